// The sum of two normalized images, against the separate operators.
#include "operators/norm/bn_params.h"
#include "tests/operators/image/image_reference.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr int64_t kBatch = 3, kSize = 5;

struct Case {
  bool nhwc;
  int64_t channels;
};
void PrintTo(const Case& c, std::ostream* out) { *out << OrderName(c.nhwc) << c.channels; }

class NormSumTest : public ::testing::TestWithParam<Case> {
 protected:
  NormSumTest() {
    uint64_t seed = 1;
    for (const char* name : {"X", "Z", "dY"}) {
      FeedImage(&ws_, name, dims_, RandomValues(CheckedNumel(dims_), seed++, -1.f, 2.f), nhwc_);
    }
    for (const char* image : {"X", "Z"}) {
      for (const char* name : {"_s", "_b", "_rm", "_rv"}) {
        FeedRandom(&ws_, std::string(image) + name, {channels_}, seed++, 0.5f, 1.5f);
      }
    }
  }

  Argument Order() const { return MakeArgument<std::string>("order", OrderName(nhwc_)); }
  OperatorDef Finalize(const std::string& image) const {
    return Op("SpatialBNFinalize",
              {image, image + "_sum", image + "_sumsq", image + "_s", image + "_b", image + "_rm",
               image + "_rv"},
              {image, image + "_norm", image + "_rm", image + "_rv"}, {Order()});
  }
  OperatorDef Sum() const {
    return Op("NormSumNormRelu", {"X", "X_norm", "Z", "Z_norm"}, {"Y"}, {Order()});
  }
  void FeedNorms() {
    for (const std::string image : {"X", "Z"}) {
      RunOp(&ws_, Op("ChannelStats", {image}, {image + "_sum", image + "_sumsq"}, {Order()}));
      RunOp(&ws_, Finalize(image));
    }
  }
  // Runs the gradient of the operator; returns the names of its inputs' gradients.
  std::vector<GradientWrapper> GradientOf(const OperatorDef& op,
                                          const std::vector<std::string>& dy) {
    std::vector<GradientWrapper> outputs(op.output_size());
    for (size_t i = 0; i < dy.size(); ++i) outputs[i].dense = dy[i];
    const GradientOpsMeta meta = GetGradientForOp(op, outputs);
    for (const OperatorDef& g : meta.ops) RunOp(&ws_, g);
    return meta.g_input;
  }

  const bool nhwc_ = GetParam().nhwc;
  const int64_t channels_ = GetParam().channels;
  const std::vector<int64_t> dims_ = {kBatch, channels_, kSize, kSize};
  Workspace ws_;
};

// SpatialBN of Z, then SpatialBNSumRelu.
TEST_P(NormSumTest, EqualsTheSeparateOperators) {
  const OperatorDef shortcut = Op("SpatialBN", {"Z", "Z_s", "Z_b", "Z_rm", "Z_rv"},
                                  {"NZ", "Z_rm", "Z_rv", "Z_sm", "Z_siv"}, {Order()});
  const OperatorDef block = Op("SpatialBNSumRelu", {"X", "X_s", "X_b", "X_rm", "X_rv", "NZ"},
                               {"Y", "X_rm", "X_rv", "X_sm", "X_siv"}, {Order()});
  for (const OperatorDef& op : {shortcut, block}) RunOp(&ws_, op);
  GradientOf(block, {"dY"});
  GradientOf(shortcut, {"NZ_grad"});
  const std::vector<std::string> results = {"Y",        "X_grad",   "Z_grad",  "X_s_grad",
                                            "X_b_grad", "Z_s_grad", "Z_b_grad"};
  std::map<std::string, std::vector<float>> expected;
  for (const std::string& name : results) expected[name] = FetchValues<float>(ws_, name);

  FeedNorms();
  RunOp(&ws_, Sum());
  const std::vector<GradientWrapper> gradients = GradientOf(Sum(), {"dY"});
  EXPECT_EQ(gradients[0].dense, gradients[2].dense);
  for (const int image : {0, 2}) {
    GradientOf(Finalize(image == 0 ? "X" : "Z"),
               {gradients[image].dense, gradients[image + 1].dense});
  }
  for (const std::string& name : results) {
    ExpectTensor(ws_, name, Fetch(ws_, name).sizes(), expected[name], 2e-4f, 2e-4f);
  }
}

// Where normalizing only adds, the gradient of the normalized image is that of the image. The Relu
// is open in every other channel.
TEST_P(NormSumTest, Gradient) {
  for (const char* image : {"X", "Z"}) {
    FeedImage(&ws_, image, dims_, RandomValues(CheckedNumel(dims_), image[0], 1.f, 2.f), nhwc_);
    std::vector<float> norm(kBnParamsRows * channels_, 1.f);
    for (int64_t c = 0; c < channels_; ++c) {
      norm[kMeanRow * channels_ + c] = 0.f;
      norm[kBiasRow * channels_ + c] = norm[kShiftRow * channels_ + c] = c % 2 == 0 ? 1.f : -9.f;
    }
    Feed(&ws_, std::string(image) + "_norm", {kBnParamsRows, channels_}, norm);
  }
  CheckGradient(&ws_, Sum(), {0, 2});
}

TEST_P(NormSumTest, MayWriteOverItsInputs) {
  FeedNorms();
  RunOp(&ws_, Sum());
  const std::vector<float> y = FetchValues<float>(ws_, "Y");
  OperatorDef op = Sum();
  op.set_output(0, "Z");
  RunOp(&ws_, op);
  ExpectTensor(ws_, "Z", Fetch(ws_, "Y").sizes(), y, 0.f, 0.f);
}

TEST_P(NormSumTest, AnEmptyBatchHasNoSums) {
  FeedNorms();
  for (const char* name : {"X", "Z", "dY"}) {
    FeedImage(&ws_, name, {0, channels_, kSize, kSize}, std::vector<float>(), nhwc_);
  }
  RunOp(&ws_, Sum());
  EXPECT_EQ(Fetch(ws_, "Y").numel(), 0);
  GradientOf(Sum(), {"dY"});
  for (const char* name : {"X_norm_grad", "Z_norm_grad"}) {
    ExpectTensor(ws_, name, {kBnParamsGradientRows, channels_},
                 std::vector<float>(kBnParamsGradientRows * channels_));
  }
}

TEST_P(NormSumTest, RefusesWhatDoesNotFit) {
  FeedNorms();
  Feed(&ws_, "wrong", {2, channels_}, std::vector<float>(2 * channels_));
  OperatorDef op = Sum();
  op.set_input(3, "wrong");
  ExpectThrows(&ws_, op, "shape 6 x");
  Feed(&ws_, "Z", {3}, std::vector<float>(3));
  ExpectThrows(&ws_, Sum(), "Z is");
}

// Channels that are moved 16 bytes at a time, in several blocks, and one by one.
INSTANTIATE_TEST_SUITE_P(Shapes, NormSumTest,
                         ::testing::Values(Case{false, 3}, Case{true, 3}, Case{true, 8},
                                           Case{true, 136}));

}  // namespace
}  // namespace caffe2::testing

// Convolutions with batch normalization around them, against the separate operators and closed
// forms.
#include "operators/norm_conv_op.h"

#include <cmath>
#include <ostream>
#include <type_traits>

#include "caffe2/core/device_backend.h"
#include "tests/operators/image_reference.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr double kEpsilon = 1e-3;
constexpr int64_t kBatch = 3, kChannels = 8, kFilters = 16, kSize = 5;

class NormConvTest : public ::testing::TestWithParam<bool> {
 protected:
  NormConvTest() {
    FeedImage(&ws_, "X", dims_, x_, nhwc_);
    FeedImage(&ws_, "W", filter_dims_, RandomValues(CheckedNumel(filter_dims_), 2), nhwc_);
    const std::vector<std::pair<std::string, float>> parameters = {
        {"s", 0.5f}, {"b", -1.f}, {"rm", -1.f}, {"rv", 0.5f}};
    uint64_t seed = 3;
    for (const auto& [name, low] : parameters) {
      FeedRandom(&ws_, name, {kChannels}, seed++, low, 1.5f);
    }
  }

  std::vector<Argument> Arguments() const {
    return {MakeArgument<std::string>("order", OrderName(nhwc_)), MakeArgument<int>("kernel", 3),
            MakeArgument<int>("pad", 1), MakeArgument<int>("stride", 2)};
  }
  OperatorDef Finalize() const {
    return Op("SpatialBNFinalize", {"X", "sum", "sumsq", "s", "b", "rm", "rv"},
              {"X", "norm", "rm", "rv"},
              {MakeArgument<std::string>("order", OrderName(nhwc_)),
               MakeArgument<float>("epsilon", kEpsilon), MakeArgument<float>("momentum", 0.7f)});
  }
  OperatorDef NormedConv() const {
    return Op("NormReluConvStats", {"X", "norm", "W"}, {"Y", "Y_sum", "Y_sumsq"}, Arguments());
  }
  // The sums of X, and the norm that follows from them.
  void FeedNorm() {
    RunOp(&ws_, Op("ChannelStats", {"X"}, {"sum", "sumsq"},
                   {MakeArgument<std::string>("order", OrderName(nhwc_))}));
    RunOp(&ws_, Finalize());
  }
  // Channel c of the values of an image, as they lie in the blob.
  std::vector<double> Channel(const std::string& blob, int64_t c, int64_t channels) const {
    const std::vector<float> values = FetchValues<float>(ws_, blob);
    const int64_t image = static_cast<int64_t>(values.size()) / (kBatch * channels);
    std::vector<double> found;
    for (int64_t i = 0; i < kBatch * image; ++i) {
      found.push_back(nhwc_ ? values[i * channels + c]
                            : values[(i / image * channels + c) * image + i % image]);
    }
    return found;
  }
  void ExpectSums(const std::string& image, int64_t channels) {
    std::vector<float> sums, squares;
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0, square = 0;
      for (const double v : Channel(image, c, channels)) {
        sum += v;
        square += v * v;
      }
      sums.push_back(static_cast<float>(sum));
      squares.push_back(static_cast<float>(square));
    }
    ExpectTensor(ws_, image + "_sum", {channels}, sums, 1e-4f, 1e-4f);
    ExpectTensor(ws_, image + "_sumsq", {channels}, squares, 1e-4f, 1e-4f);
  }
  void GradientOf(const OperatorDef& op, const std::vector<std::string>& dy) {
    std::vector<GradientWrapper> outputs(op.output_size());
    for (size_t i = 0; i < dy.size(); ++i) outputs[i].dense = dy[i];
    for (const OperatorDef& g : GetGradientForOp(op, outputs).ops) RunOp(&ws_, g);
  }

  const bool nhwc_ = GetParam();
  const std::vector<int64_t> dims_ = {kBatch, kChannels, kSize, kSize};
  const std::vector<int64_t> filter_dims_ = {kFilters, kChannels, 3, 3};
  const std::vector<float> x_ = RandomValues(CheckedNumel(dims_), 1, -1.f, 2.f);
  Workspace ws_;
};

TEST_P(NormConvTest, ConvStatsIsConvAndTheSumsOfItsResult) {
  RunOp(&ws_, Op("ConvStats", {"X", "W"}, {"Y", "Y_sum", "Y_sumsq"}, Arguments()));
  const std::vector<float> y = FetchValues<float>(ws_, "Y");
  ExpectSums("Y", kFilters);
  RunOp(&ws_, Op("Conv", {"X", "W"}, {"expected"}, Arguments()));
  ExpectTensor(ws_, "expected", Fetch(ws_, "Y").sizes(), y);
}

TEST_P(NormConvTest, ConvStatsGradient) {
  CheckGradient(&ws_, Op("ConvStats", {"X", "W"}, {"Y", "Y_sum", "Y_sumsq"}, Arguments()), {0, 1});
}

TEST_P(NormConvTest, GradientsOfTheSumsAreRefused) {
  const OperatorDef op = Op("ConvStats", {"X", "W"}, {"Y", "Y_sum", "Y_sumsq"}, Arguments());
  std::vector<GradientWrapper> outputs(3);
  outputs[0].dense = "dY";
  outputs[1].dense = "dsum";
  EXPECT_THROW(GetGradientForOp(op, outputs), EnforceNotMet);
}

TEST_P(NormConvTest, FinalizeIsTheClosedForm) {
  const auto scale = FetchValues<float>(ws_, "s"), bias = FetchValues<float>(ws_, "b"),
             mean = FetchValues<float>(ws_, "rm"), variance = FetchValues<float>(ws_, "rv");
  FeedNorm();
  ExpectImage(ws_, "X", dims_, x_, nhwc_, 0.f, 0.f);
  std::vector<float> rows(kNormRows * kChannels), running_mean, running_variance;
  for (int64_t c = 0; c < kChannels; ++c) {
    const std::vector<double> x = Channel("X", c, kChannels);
    const auto n = static_cast<double>(x.size());
    double average = 0, spread = 0;
    for (const double v : x) average += v / n;
    for (const double v : x) spread += (v - average) * (v - average) / n;
    const double inverse_std = 1 / std::sqrt(spread + kEpsilon), factor = scale[c] * inverse_std;
    const double row[] = {average, inverse_std, scale[c],
                          bias[c], factor,      bias[c] - average * factor};
    for (int r = 0; r < kNormRows; ++r) rows[r * kChannels + c] = static_cast<float>(row[r]);
    running_mean.push_back(static_cast<float>(0.7 * mean[c] + 0.3 * average));
    running_variance.push_back(static_cast<float>(0.7 * variance[c] + 0.3 * spread * n / (n - 1)));
  }
  ExpectTensor(ws_, "norm", {kNormRows, kChannels}, rows, 1e-4f, 1e-5f);
  ExpectTensor(ws_, "rm", {kChannels}, running_mean, 1e-4f, 1e-5f);
  ExpectTensor(ws_, "rv", {kChannels}, running_variance, 1e-4f, 1e-5f);
}

TEST_P(NormConvTest, AnEmptyBatchLeavesTheRunningValues) {
  const std::vector<float> mean = FetchValues<float>(ws_, "rm");
  FeedImage(&ws_, "X", {0, kChannels, kSize, kSize}, std::vector<float>(), nhwc_);
  Feed(&ws_, "sum", {kChannels}, std::vector<float>(kChannels));
  Feed(&ws_, "sumsq", {kChannels}, std::vector<float>(kChannels));
  RunOp(&ws_, Finalize());
  ExpectTensor(ws_, "rm", {kChannels}, mean, 0.f, 0.f);
  for (const float value : FetchValues<float>(ws_, "norm")) EXPECT_TRUE(std::isfinite(value));
}

// The separate operators: SpatialBNRelu, then Conv.
TEST_P(NormConvTest, NormReluConvStatsEqualsTheSeparateOperators) {
  std::vector<OperatorDef> separate = {
      Op("SpatialBNRelu", {"X", "s", "b", "rm", "rv"}, {"N", "rm", "rv", "sm", "siv"},
         {MakeArgument<std::string>("order", OrderName(nhwc_)),
          MakeArgument<float>("epsilon", kEpsilon)}),
      Op("Conv", {"N", "W"}, {"Y"}, Arguments())};
  for (const OperatorDef& op : separate) RunOp(&ws_, op);
  const std::vector<float> y = FetchValues<float>(ws_, "Y");
  const std::vector<int64_t> y_dims = Fetch(ws_, "Y").sizes();
  FeedRandom(&ws_, "dY", y_dims, 11);
  GradientOf(separate[1], {"dY"});
  GradientOf(separate[0], {"N_grad"});
  std::map<std::string, std::vector<float>> expected;
  const std::vector<std::string> gradients = {"W_grad", "X_grad", "s_grad", "b_grad"};
  for (const std::string& name : gradients) expected[name] = FetchValues<float>(ws_, name);

  FeedNorm();
  RunOp(&ws_, NormedConv());
  ExpectTensor(ws_, "Y", y_dims, y, 1e-4f, 1e-4f);
  ExpectSums("Y", kFilters);
  GradientOf(NormedConv(), {"dY"});
  GradientOf(Finalize(), {"X_grad", "norm_grad"});
  for (const std::string& name : gradients) {
    ExpectTensor(ws_, name, Fetch(ws_, name).sizes(), expected[name], 1e-4f, 1e-4f);
  }
}

// The separate operators: SpatialBNSumRelu, then Conv. What it gives out has a gradient of its own,
// or none.
TEST_P(NormConvTest, NormSumReluConvStatsEqualsTheSeparateOperators) {
  FeedImage(&ws_, "Z", dims_, RandomValues(CheckedNumel(dims_), 12), nhwc_);
  FeedImage(&ws_, "dN", dims_, RandomValues(CheckedNumel(dims_), 13), nhwc_);
  std::vector<OperatorDef> separate = {
      Op("SpatialBNSumRelu", {"X", "s", "b", "rm", "rv", "Z"}, {"N", "rm", "rv", "sm", "siv"},
         {MakeArgument<std::string>("order", OrderName(nhwc_)),
          MakeArgument<float>("epsilon", kEpsilon)}),
      Op("Conv", {"N", "W"}, {"Y"}, Arguments())};
  for (const OperatorDef& op : separate) RunOp(&ws_, op);
  const std::vector<float> y = FetchValues<float>(ws_, "Y"), n = FetchValues<float>(ws_, "N");
  const std::vector<int64_t> dims = Fetch(ws_, "X").sizes(), y_dims = Fetch(ws_, "Y").sizes();
  FeedRandom(&ws_, "dY", y_dims, 11);
  for (const bool also : {false, true}) {
    GradientOf(separate[1], {"dY"});
    if (also) RunOp(&ws_, Op("Sum", {"N_grad", "dN"}, {"N_grad"}));
    GradientOf(separate[0], {"N_grad"});
    std::map<std::string, std::vector<float>> expected;
    const std::vector<std::string> gradients = {"W_grad", "X_grad", "s_grad", "b_grad", "Z_grad"};
    for (const std::string& name : gradients) expected[name] = FetchValues<float>(ws_, name);

    FeedNorm();
    const OperatorDef op = Op("NormSumReluConvStats", {"X", "norm", "Z", "W"},
                              {"Y", "Y_sum", "Y_sumsq", "N"}, Arguments());
    RunOp(&ws_, op);
    ExpectTensor(ws_, "Y", y_dims, y, 1e-4f, 1e-4f);
    ExpectTensor(ws_, "N", dims, n, 1e-4f, 1e-4f);
    ExpectSums("Y", kFilters);
    std::vector<GradientWrapper> outputs(4);
    outputs[0].dense = "dY";
    if (also) outputs[3].dense = "dN";
    const GradientOpsMeta meta = GetGradientForOp(op, outputs);
    for (const OperatorDef& g : meta.ops) RunOp(&ws_, g);
    EXPECT_EQ(meta.g_input[0].dense, meta.g_input[2].dense);
    GradientOf(Finalize(), {meta.g_input[0].dense, "norm_grad"});
    const std::vector<float> g = FetchValues<float>(ws_, meta.g_input[2].dense);
    Feed(&ws_, "Z_grad", dims, g);
    for (const std::string& name : gradients) {
      ExpectTensor(ws_, name, Fetch(ws_, name).sizes(), expected[name], 1e-4f, 1e-4f);
    }
  }
}

TEST_P(NormConvTest, GradientsOfTheFilterAndTheSummand) {
  FeedNorm();
  // Away from the kink: numeric gradients cross it otherwise.
  FeedImage(&ws_, "Z", dims_, RandomValues(CheckedNumel(dims_), 12, 5.f, 6.f), nhwc_);
  CheckGradient(&ws_,
                Op("NormSumReluConvStats", {"X", "norm", "Z", "W"}, {"Y", "Y_sum", "Y_sumsq", "N"},
                   Arguments()),
                {2, 3});
}

TEST_P(NormConvTest, FilterGradient) {
  FeedNorm();
  CheckGradient(&ws_, NormedConv(), {2});
}

TEST_P(NormConvTest, GivenSumsReplaceThePassThatFormsThem) {
  FeedImage(&ws_, "Z", dims_, RandomValues(CheckedNumel(dims_), 9), nhwc_);
  RunOp(&ws_, Op("ChannelStats", {"X"}, {"sum", "sumsq"},
                 {MakeArgument<std::string>("order", OrderName(nhwc_))}));
  for (const std::string type : {"SpatialBN", "SpatialBNRelu", "SpatialBNSumRelu"}) {
    std::vector<std::string> inputs = {"X", "s", "b", "rm", "rv"};
    if (type == "SpatialBNSumRelu") inputs.emplace_back("Z");
    const std::vector<std::string> outputs = {"Y", "rm", "rv", "sm", "siv"};
    const std::vector<Argument> order = {MakeArgument<std::string>("order", OrderName(nhwc_)),
                                         MakeArgument<int>("own_sums", 1)};
    const auto mean = FetchValues<float>(ws_, "rm");
    RunOp(&ws_, Op(type, inputs, outputs, order));
    const auto y = FetchValues<float>(ws_, "Y"), siv = FetchValues<float>(ws_, "siv"),
               moved = FetchValues<float>(ws_, "rm");
    Feed(&ws_, "rm", {kChannels}, mean);
    inputs.insert(inputs.end(), {"sum", "sumsq"});
    RunOp(&ws_, Op(type, inputs, outputs, order));
    ExpectTensor(ws_, "Y", Fetch(ws_, "X").sizes(), y, 1e-4f, 1e-4f);
    ExpectTensor(ws_, "siv", {kChannels}, siv, 1e-4f, 1e-4f);
    ExpectTensor(ws_, "rm", {kChannels}, moved, 1e-4f, 1e-4f);
    FeedImage(&ws_, "dY", dims_, RandomValues(CheckedNumel(dims_), 10), nhwc_);
    GradientOf(Op(type, inputs, outputs, order), {"dY"});  // takes no sums
  }
}

TEST_P(NormConvTest, RefusesWhatDoesNotFit) {
  FeedNorm();
  Feed(&ws_, "wrong", {2, kChannels}, std::vector<float>(2 * kChannels));
  ExpectThrows(&ws_, Op("NormReluConvStats", {"X", "wrong", "W"}, {"Y", "a", "b"}, Arguments()),
               "6 x 8");
  Feed(&ws_, "Z", {3}, std::vector<float>(3));
  ExpectThrows(
      &ws_, Op("NormSumReluConvStats", {"X", "norm", "Z", "W"}, {"Y", "a", "b", "N"}, Arguments()),
      "Z is");
  Feed(&ws_, "sum", {3}, std::vector<float>(3));
  ExpectThrows(&ws_, Finalize(), "one value a channel");
}

INSTANTIATE_TEST_SUITE_P(Orders, NormConvTest, ::testing::Values(false, true));

// In 16 bits, with the shapes of ResNet-50's layers, for which devices have engines.
struct Layer {
  int kernel, stride;
  int64_t filters;
};
void PrintTo(const Layer& layer, std::ostream* out) {
  *out << layer.kernel << "x" << layer.kernel << " / " << layer.stride;
}

class NormConv16Test : public ::testing::TestWithParam<Layer> {
 protected:
  static constexpr int64_t kDepth = 64, kEdge = 8;

  // The forward and backward pass; returns every result by name.
  template <typename T>
  std::map<std::string, std::vector<float>> Run(bool with_sum) {
    const auto [kernel, stride, filters] = GetParam();
    const std::vector<int64_t> x_dims = {2, kEdge, kEdge, kDepth};
    const std::vector<int64_t> y_dims = {2, kEdge / stride, kEdge / stride, filters};
    Workspace ws;
    FeedAs<T>(&ws, "X", x_dims, 1);
    FeedAs<T>(&ws, "dY", y_dims, 2);
    FeedAs<float>(&ws, "W", {filters, kernel, kernel, kDepth}, 3);
    FeedRandom(&ws, "s", {kDepth}, 4, 0.5f, 1.5f);
    FeedRandom(&ws, "b", {kDepth}, 5);
    for (const char* name : {"rm", "rv"}) FeedRandom(&ws, name, {kDepth}, 6, 0.5f, 1.5f);
    const auto order = MakeArgument<std::string>("order", "NHWC");
    RunOp(&ws, Op("ChannelStats", {"X"}, {"sum", "sumsq"}, {order}));
    const OperatorDef finalize =
        Op("SpatialBNFinalize", {"X", "sum", "sumsq", "s", "b", "rm", "rv"},
           {"X", "norm", "rm", "rv"}, {order});
    const OperatorDef conv = Op("NormReluConvStats", {"X", "norm", "W"}, {"Y", "Y_sum", "Y_sumsq"},
                                {order, MakeArgument("kernel", kernel),
                                 MakeArgument("stride", stride), MakeArgument("pad", kernel / 2)});
    RunOp(&ws, finalize);
    RunOp(&ws, conv);
    std::vector<GradientWrapper> dy(3);
    dy[0].dense = "dY";
    for (const OperatorDef& g : GetGradientForOp(conv, dy).ops) RunOp(&ws, g);
    dy.assign(4, {});
    dy[0].dense = "X_grad";
    dy[1].dense = "norm_grad";
    for (const OperatorDef& g : GetGradientForOp(finalize, dy).ops) RunOp(&ws, g);
    std::map<std::string, std::vector<float>> results;
    for (const char* name :
         {"Y", "Y_sum", "Y_sumsq", "W_grad", "X_grad", "s_grad", "b_grad", "rm"}) {
      results[name] = Values<T>(Fetch(ws, name));
    }
    return results;
  }

  template <typename T>
  static T Narrow(float value) {
    if constexpr (std::is_same_v<T, float16>) return ToFloat16(value);
    if constexpr (std::is_same_v<T, bfloat16>) return caffe2::ToBFloat16(value);
    if constexpr (std::is_same_v<T, float>) return value;
  }
  // Values that all types hold exactly.
  template <typename T>
  static void FeedAs(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                     uint64_t seed) {
    std::vector<T> values;
    for (const float v : RandomValues(CheckedNumel(dims), seed)) {
      values.push_back(Narrow<T>(std::round(v * 128) / 128));
    }
    Feed(ws, name, dims, values);
  }
  template <typename T>
  static std::vector<float> Values(const Tensor& tensor) {
    std::vector<float> values;
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      if constexpr (!std::is_same_v<T, float>) {
        if (tensor.IsType<T>()) {
          values.push_back(caffe2::ToFloat(tensor.data<T>()[i]));
          continue;
        }
      }
      values.push_back(tensor.data<float>()[i]);
    }
    return values;
  }

  // Differences as parts of the largest value. Where x is close to the Relu's kink, roundings of
  // the normalized x decide, so single elements of X_grad may be far away: the mean tells.
  template <typename T>
  void ExpectFollowsFloat(float tolerance) {
    for (const bool with_sum : {false, true})
      ExpectClose(Run<float>(with_sum), Run<T>(with_sum), tolerance);
  }
  static void ExpectClose(const std::map<std::string, std::vector<float>>& expected,
                          const std::map<std::string, std::vector<float>>& found, float tolerance) {
    for (const auto& [name, values] : expected) {
      const std::vector<float>& others = found.at(name);
      ASSERT_EQ(values.size(), others.size()) << name;
      double largest = 0, difference = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        largest = std::max<double>(largest, std::abs(values[i]));
        difference += std::abs(values[i] - others[i]) / static_cast<double>(values.size());
      }
      EXPECT_LE(difference, tolerance * largest) << name;
    }
  }
};

TEST_P(NormConv16Test, BFloat16FollowsFloat) { ExpectFollowsFloat<bfloat16>(0x1p-8f); }
TEST_P(NormConv16Test, Float16FollowsFloat) {
  if (!TestsCuda() || NumDevices(CUDA) == 0) GTEST_SKIP() << "float16 is for CUDA devices";
  ExpectFollowsFloat<float16>(0x1p-10f);
}

INSTANTIATE_TEST_SUITE_P(Layers, NormConv16Test,
                         ::testing::Values(Layer{1, 1, 256}, Layer{3, 1, 64}, Layer{3, 2, 128}));

}  // namespace
}  // namespace caffe2::testing

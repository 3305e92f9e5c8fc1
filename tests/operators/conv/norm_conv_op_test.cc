// Convolutions with batch normalization around them, against the separate operators and closed
// forms.
#include "operators/conv/norm_conv_op.h"

#include <cmath>
#include <ostream>
#include <type_traits>

#include "caffe2/core/device_backend.h"
#include "tests/operators/image/image_reference.h"
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
    for (const std::string image : {"", "z_"}) {
      for (const auto& [name, low] : parameters) {
        FeedRandom(&ws_, image + name, {kChannels}, seed++, low, 1.5f);
      }
    }
  }

  std::vector<Argument> Arguments() const {
    return {MakeArgument<std::string>("order", OrderName(nhwc_)), MakeArgument<int>("kernel", 3),
            MakeArgument<int>("pad", 1), MakeArgument<int>("stride", 2)};
  }
  // Of X, or of Z, whose parameters begin with "z_".
  OperatorDef Finalize(const std::string& image = "X", const std::string& of = "") const {
    return Op("SpatialBNFinalize",
              {image, of + "sum", of + "sumsq", of + "s", of + "b", of + "rm", of + "rv"},
              {image, of + "norm", of + "rm", of + "rv"},
              {MakeArgument<std::string>("order", OrderName(nhwc_)),
               MakeArgument<float>("epsilon", kEpsilon), MakeArgument<float>("momentum", 0.7f)});
  }
  OperatorDef NormedConv() const {
    return Op("NormReluConvStats", {"X", "norm", "W"}, {"Y", "Y_sum", "Y_sumsq"}, Arguments());
  }
  OperatorDef SumConv(bool two_norms) const {
    return two_norms ? Op("NormSumNormReluConvStats", {"X", "norm", "Z", "z_norm", "W"},
                          {"Y", "Y_sum", "Y_sumsq", "N"}, Arguments())
                     : Op("NormSumReluConvStats", {"X", "norm", "Z", "W"},
                          {"Y", "Y_sum", "Y_sumsq", "N"}, Arguments());
  }
  // The sums of an image, and the norm that follows from them.
  void FeedNorm(const std::string& image = "X", const std::string& of = "") {
    RunOp(&ws_, Op("ChannelStats", {image}, {of + "sum", of + "sumsq"},
                   {MakeArgument<std::string>("order", OrderName(nhwc_))}));
    RunOp(&ws_, Finalize(image, of));
  }
  // A norm that only adds: to the Relu behind it every other channel is open.
  void FeedShift(const std::string& norm) {
    std::vector<float> rows(kBnParamsRows * kChannels, 1.f);
    for (int64_t c = 0; c < kChannels; ++c) {
      rows[kMeanRow * kChannels + c] = 0.f;
      rows[kBiasRow * kChannels + c] = rows[kShiftRow * kChannels + c] = c % 2 == 0 ? 1.f : -9.f;
    }
    Feed(&ws_, norm, {kBnParamsRows, kChannels}, rows);
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
  std::vector<float> rows(kBnParamsRows * kChannels), running_mean, running_variance;
  for (int64_t c = 0; c < kChannels; ++c) {
    const std::vector<double> x = Channel("X", c, kChannels);
    const auto n = static_cast<double>(x.size());
    double average = 0, spread = 0;
    for (const double v : x) average += v / n;
    for (const double v : x) spread += (v - average) * (v - average) / n;
    const double inverse_std = 1 / std::sqrt(spread + kEpsilon), factor = scale[c] * inverse_std;
    const double row[] = {average, inverse_std, scale[c],
                          bias[c], factor,      bias[c] - average * factor};
    for (int r = 0; r < kBnParamsRows; ++r) rows[r * kChannels + c] = static_cast<float>(row[r]);
    running_mean.push_back(static_cast<float>(0.7 * mean[c] + 0.3 * average));
    running_variance.push_back(static_cast<float>(0.7 * variance[c] + 0.3 * spread * n / (n - 1)));
  }
  ExpectTensor(ws_, "norm", {kBnParamsRows, kChannels}, rows, 1e-4f, 1e-5f);
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

// The separate operators: SpatialBN of Z if Z is normalized, SpatialBNSumRelu, Conv. What the
// convolution reads has a gradient from elsewhere, or none.
TEST_P(NormConvTest, SumsEqualTheSeparateOperators) {
  FeedImage(&ws_, "Z", dims_, RandomValues(CheckedNumel(dims_), 12), nhwc_);
  FeedImage(&ws_, "dN", dims_, RandomValues(CheckedNumel(dims_), 13), nhwc_);
  const std::vector<Argument> arguments = {
      MakeArgument<std::string>("order", OrderName(nhwc_)),
      MakeArgument<float>("epsilon", static_cast<float>(kEpsilon))};
  for (const bool two_norms : {false, true}) {
    const OperatorDef shortcut = Op("SpatialBN", {"Z", "z_s", "z_b", "z_rm", "z_rv"},
                                    {"NZ", "z_rm", "z_rv", "z_sm", "z_siv"}, arguments),
                      block = Op("SpatialBNSumRelu",
                                 {"X", "s", "b", "rm", "rv", two_norms ? "NZ" : "Z"},
                                 {"N", "rm", "rv", "sm", "siv"}, arguments),
                      conv = Op("Conv", {"N", "W"}, {"Y"}, Arguments());
    for (const OperatorDef& op : {shortcut, block, conv}) RunOp(&ws_, op);
    const std::vector<float> y = FetchValues<float>(ws_, "Y"), n = FetchValues<float>(ws_, "N");
    const std::vector<int64_t> dims = Fetch(ws_, "X").sizes(), y_dims = Fetch(ws_, "Y").sizes();
    FeedRandom(&ws_, "dY", y_dims, 11);
    std::vector<std::string> gradients = {"W_grad", "X_grad", "s_grad", "b_grad", "Z_grad"};
    if (two_norms) gradients.insert(gradients.end(), {"z_s_grad", "z_b_grad"});
    for (const bool also : {false, true}) {
      GradientOf(conv, {"dY"});
      if (also) RunOp(&ws_, Op("Sum", {"N_grad", "dN"}, {"N_grad"}));
      GradientOf(block, {"N_grad"});
      if (two_norms) GradientOf(shortcut, {"NZ_grad"});
      std::map<std::string, std::vector<float>> expected;
      for (const std::string& name : gradients) expected[name] = FetchValues<float>(ws_, name);

      FeedNorm();
      FeedNorm("Z", "z_");
      const OperatorDef op = SumConv(two_norms);
      RunOp(&ws_, op);
      ExpectTensor(ws_, "Y", y_dims, y, 1e-4f, 1e-4f);
      ExpectTensor(ws_, "N", dims, n, 1e-4f, 1e-4f);
      ExpectSums("Y", kFilters);
      std::vector<GradientWrapper> outputs(4);
      outputs[0].dense = "dY";
      if (also) outputs[3].dense = "dN";
      const GradientOpsMeta meta = GetGradientForOp(op, outputs);
      for (const OperatorDef& g : meta.ops) RunOp(&ws_, g);
      const std::string g = meta.g_input[0].dense;
      EXPECT_EQ(g, meta.g_input[2].dense);
      GradientOf(Finalize(), {g, meta.g_input[1].dense});
      if (two_norms) {
        GradientOf(Finalize("Z", "z_"), {g, meta.g_input[3].dense});
      } else {
        Feed(&ws_, "Z_grad", dims, FetchValues<float>(ws_, g));
      }
      for (const std::string& name : gradients) {
        ExpectTensor(ws_, name, Fetch(ws_, name).sizes(), expected[name], 1e-4f, 1e-4f);
      }
    }
  }
}

TEST_P(NormConvTest, GradientsOfTheFilterAndTheSummand) {
  FeedNorm();
  // Away from the kink: numeric gradients cross it otherwise.
  FeedImage(&ws_, "Z", dims_, RandomValues(CheckedNumel(dims_), 12, 5.f, 6.f), nhwc_);
  CheckGradient(&ws_, SumConv(false), {2, 3});
}

// Where normalizing only adds, the gradient of the normalized image is that of the image.
TEST_P(NormConvTest, GradientsOfTheFilterAndBothImages) {
  for (const char* image : {"X", "Z"}) {
    FeedImage(&ws_, image, dims_, RandomValues(CheckedNumel(dims_), image[0], 1.f, 2.f), nhwc_);
  }
  for (const char* norm : {"norm", "z_norm"}) FeedShift(norm);
  CheckGradient(&ws_, SumConv(true), {0, 2, 4}, {.outputs_with_gradient = {0, 3}});
}

TEST_P(NormConvTest, AnEmptyBatchHasNoSums) {
  for (const char* name : {"X", "Z", "dN"}) {
    FeedImage(&ws_, name, {0, kChannels, kSize, kSize}, std::vector<float>(), nhwc_);
  }
  for (const char* norm : {"norm", "z_norm"}) FeedShift(norm);
  for (const bool two_norms : {false, true}) {
    const OperatorDef op = SumConv(two_norms);
    RunOp(&ws_, op);
    ExpectTensor(ws_, "Y_sum", {kFilters}, std::vector<float>(kFilters));
    EXPECT_EQ(Fetch(ws_, "N").numel(), 0);
    Feed(&ws_, "dY", Fetch(ws_, "Y").sizes(), std::vector<float>());
    std::vector<GradientWrapper> outputs(4);
    outputs[0].dense = "dY";
    outputs[3].dense = "dN";
    const GradientOpsMeta meta = GetGradientForOp(op, outputs);
    for (const OperatorDef& g : meta.ops) RunOp(&ws_, g);
    const std::vector<float> none(kBnParamsGradientRows * kChannels);
    ExpectTensor(ws_, meta.g_input[1].dense, {kBnParamsGradientRows, kChannels}, none);
    if (two_norms)
      ExpectTensor(ws_, meta.g_input[3].dense, {kBnParamsGradientRows, kChannels}, none);
  }
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
  FeedImage(&ws_, "Z", dims_, RandomValues(CheckedNumel(dims_), 12), nhwc_);
  Feed(&ws_, "z_norm", {2, kChannels}, std::vector<float>(2 * kChannels));
  ExpectThrows(&ws_, SumConv(true), "6 x 8");
  FeedNorm("Z", "z_");
  RunOp(&ws_, SumConv(true));
  Feed(&ws_, "wrong", {3}, std::vector<float>(3));
  FeedRandom(&ws_, "dY", Fetch(ws_, "Y").sizes(), 11);
  const OperatorDef gradient =
      Op("NormSumNormReluConvStatsGradient", {"X", "norm", "Z", "z_norm", "W", "dY", "N", "N"},
         {"dW", "g", "a", "b"}, Arguments());
  for (const auto& [input, text] :
       {std::pair{2, "Z is"}, std::pair{5, "dY"}, std::pair{6, "N is"}, std::pair{7, "dN is"}}) {
    OperatorDef op = gradient;
    op.set_input(input, "wrong");
    ExpectThrows(&ws_, op, text);
  }
  Feed(&ws_, "Z", {3}, std::vector<float>(3));
  for (const bool two_norms : {false, true}) ExpectThrows(&ws_, SumConv(two_norms), "Z is");
  Feed(&ws_, "sum", {3}, std::vector<float>(3));
  ExpectThrows(&ws_, Finalize(),
               "input 1 (sum) must have one value for each of the 8 channels, found 3");
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
  std::map<std::string, std::vector<float>> Run(const std::string& type) {
    const auto [kernel, stride, filters] = GetParam();
    const std::vector<int64_t> x_dims = {2, kEdge, kEdge, kDepth};
    const std::vector<int64_t> y_dims = {2, kEdge / stride, kEdge / stride, filters};
    const bool sum = type != "NormReluConvStats", two_norms = type == "NormSumNormReluConvStats";
    Workspace ws;
    for (const char* name : {"X", "Z", "dN"}) FeedAs<T>(&ws, name, x_dims, name[0]);
    FeedAs<T>(&ws, "dY", y_dims, 2);
    FeedAs<float>(&ws, "W", {filters, kernel, kernel, kDepth}, 3);
    const auto order = MakeArgument<std::string>("order", "NHWC");
    std::vector<OperatorDef> finalize;
    for (const std::string image : {"X", "Z"}) {
      FeedRandom(&ws, image + "_s", {kDepth}, 4, 0.5f, 1.5f);
      FeedRandom(&ws, image + "_b", {kDepth}, 5);
      for (const char* name : {"_rm", "_rv"})
        FeedRandom(&ws, image + name, {kDepth}, 6, 0.5f, 1.5f);
      RunOp(&ws, Op("ChannelStats", {image}, {image + "_sum", image + "_sumsq"}, {order}));
      finalize.push_back(Op("SpatialBNFinalize",
                            {image, image + "_sum", image + "_sumsq", image + "_s", image + "_b",
                             image + "_rm", image + "_rv"},
                            {image, image + "_norm", image + "_rm", image + "_rv"}, {order}));
      RunOp(&ws, finalize.back());
    }
    std::vector<std::string> inputs = {"X", "X_norm"}, outputs = {"Y", "Y_sum", "Y_sumsq"};
    if (sum) inputs.emplace_back("Z");
    if (two_norms) inputs.emplace_back("Z_norm");
    inputs.emplace_back("W");
    if (sum) outputs.emplace_back("N");
    const OperatorDef conv = Op(type, inputs, outputs,
                                {order, MakeArgument("kernel", kernel),
                                 MakeArgument("stride", stride), MakeArgument("pad", kernel / 2)});
    RunOp(&ws, conv);
    std::vector<GradientWrapper> dy(outputs.size());
    dy[0].dense = "dY";
    if (sum) dy[3].dense = "dN";
    const GradientOpsMeta meta = GetGradientForOp(conv, dy);
    for (const OperatorDef& g : meta.ops) RunOp(&ws, g);
    std::vector<std::string> names = {"Y",      "Y_sum",    "Y_sumsq",  "W_grad",
                                      "X_grad", "X_s_grad", "X_b_grad", "X_rm"};
    if (sum) names.emplace_back("N");
    if (two_norms) names.insert(names.end(), {"Z_grad", "Z_s_grad", "Z_b_grad"});
    for (const int image : two_norms ? std::vector<int>{0, 2} : std::vector<int>{0}) {
      dy.assign(4, {});
      dy[0] = meta.g_input[image];
      dy[1] = meta.g_input[image + 1];
      for (const OperatorDef& g : GetGradientForOp(finalize[image / 2], dy).ops) RunOp(&ws, g);
    }
    std::map<std::string, std::vector<float>> results;
    for (const std::string& name : names) results[name] = Values<T>(Fetch(ws, name));
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
    for (const char* type :
         {"NormReluConvStats", "NormSumReluConvStats", "NormSumNormReluConvStats"}) {
      ExpectClose(Run<float>(type), Run<T>(type), tolerance, type);
    }
  }
  static void ExpectClose(const std::map<std::string, std::vector<float>>& expected,
                          const std::map<std::string, std::vector<float>>& found, float tolerance,
                          const std::string& type) {
    for (const auto& [name, values] : expected) {
      const std::vector<float>& others = found.at(name);
      ASSERT_EQ(values.size(), others.size()) << name;
      double largest = 0, difference = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        largest = std::max<double>(largest, std::abs(values[i]));
        difference += std::abs(values[i] - others[i]) / static_cast<double>(values.size());
      }
      EXPECT_LE(difference, tolerance * largest) << name << " of " << type;
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

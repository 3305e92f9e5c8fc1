#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr double kEpsilon = 1e-3;

// Everything the forward operator makes of NCHW values, in double.
struct Reference {
  std::vector<float> y, mean, inverse_std, running_mean, running_variance;
};

Reference Normalize(const std::vector<int64_t>& dims, const std::vector<float>& x,
                    const std::vector<float>& scale, const std::vector<float>& bias,
                    const std::vector<float>& running_mean,
                    const std::vector<float>& running_variance, bool is_test, double momentum) {
  const int64_t batch = dims[0], channels = dims[1];
  const int64_t image = static_cast<int64_t>(x.size()) / (batch * channels);
  const double n = static_cast<double>(batch * image);
  Reference result;
  result.y.resize(x.size());
  for (int64_t c = 0; c < channels; ++c) {
    const auto each = [&](auto f) {
      for (int64_t b = 0; b < batch; ++b) {
        for (int64_t i = 0; i < image; ++i) f((b * channels + c) * image + i);
      }
    };
    double mean = 0, variance = 0;
    each([&](int64_t i) { mean += x[i] / n; });
    each([&](int64_t i) { variance += (x[i] - mean) * (x[i] - mean) / n; });
    result.running_mean.push_back(
        static_cast<float>(momentum * running_mean[c] + (1 - momentum) * mean));
    result.running_variance.push_back(static_cast<float>(momentum * running_variance[c] +
                                                         (1 - momentum) * variance * n / (n - 1)));
    if (is_test) {
      mean = running_mean[c];
      variance = running_variance[c];
    }
    const double inverse_std = 1 / std::sqrt(variance + kEpsilon);
    result.mean.push_back(static_cast<float>(mean));
    result.inverse_std.push_back(static_cast<float>(inverse_std));
    each([&](int64_t i) {
      result.y[i] = static_cast<float>((x[i] - mean) * inverse_std * scale[c] + bias[c]);
    });
  }
  return result;
}

// NCHW shapes: odd sizes, more elements than one thread takes, more channels than one cache chunk
// has rows, no spatial axis, three of them.
class SpatialBNTest : public ::testing::TestWithParam<std::tuple<std::vector<int64_t>, bool>> {
 protected:
  SpatialBNTest() {
    const int64_t channels = dims_[1];
    x_ = RandomValues(CheckedNumel(dims_), 1, -1.f, 2.f);
    z_ = RandomValues(CheckedNumel(dims_), 6);
    scale_ = RandomValues(channels, 2, 0.5f, 1.5f);
    bias_ = RandomValues(channels, 3);
    mean_ = RandomValues(channels, 4);
    variance_ = RandomValues(channels, 5, 0.5f, 1.5f);
    FeedImage(&ws_, "X", dims_, x_, nhwc_);
    FeedImage(&ws_, "Z", dims_, z_, nhwc_);
    FeedParameters();
  }
  void FeedParameters() {
    const int64_t channels = dims_[1];
    Feed(&ws_, "s", {channels}, scale_);
    Feed(&ws_, "b", {channels}, bias_);
    Feed(&ws_, "rm", {channels}, mean_);
    Feed(&ws_, "rv", {channels}, variance_);
  }
  OperatorDef Make(const std::string& type, bool is_test) const {
    std::vector<std::string> inputs = {"X", "s", "b", "rm", "rv"};
    if (type == "SpatialBNSumRelu") inputs.push_back("Z");
    std::vector<std::string> outputs = {"Y"};
    if (!is_test) outputs = {"Y", "rm", "rv", "sm", "siv"};
    return Op(type, inputs, outputs,
              {MakeArgument<std::string>("order", OrderName(nhwc_)),
               MakeArgument<float>("epsilon", kEpsilon), MakeArgument<float>("momentum", 0.7f),
               MakeArgument<int>("is_test", is_test)});
  }
  Reference Expected(bool is_test) const {
    return Normalize(dims_, x_, scale_, bias_, mean_, variance_, is_test, 0.7);
  }

  const std::vector<int64_t> dims_ = std::get<0>(GetParam());
  const bool nhwc_ = std::get<1>(GetParam());
  std::vector<float> x_, z_, scale_, bias_, mean_, variance_;
  Workspace ws_;
};

TEST_P(SpatialBNTest, Training) {
  RunOp(&ws_, Make("SpatialBN", false));
  const Reference expected = Expected(false);
  const int64_t channels = dims_[1];
  ExpectImage(ws_, "Y", dims_, expected.y, nhwc_, 1e-4f, 1e-4f);
  ExpectTensor(ws_, "sm", {channels}, expected.mean, 1e-5f, 1e-5f);
  ExpectTensor(ws_, "siv", {channels}, expected.inverse_std, 1e-4f, 1e-5f);
  ExpectTensor(ws_, "rm", {channels}, expected.running_mean, 1e-5f, 1e-5f);
  ExpectTensor(ws_, "rv", {channels}, expected.running_variance, 1e-4f, 1e-5f);
}

TEST_P(SpatialBNTest, Test) {
  RunOp(&ws_, Make("SpatialBN", true));
  ExpectImage(ws_, "Y", dims_, Expected(true).y, nhwc_, 1e-4f, 1e-5f);
  const int64_t channels = dims_[1];
  ExpectTensor(ws_, "rm", {channels}, mean_, 0.f, 0.f);
  ExpectTensor(ws_, "rv", {channels}, variance_, 0.f, 0.f);
}

TEST_P(SpatialBNTest, FusedFormsEqualTheSeparateOnes) {
  for (const bool is_test : {false, true}) {
    std::vector<float> relu = Expected(is_test).y, sum = relu;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = std::max(0.f, sum[i] + z_[i]);
    for (float& value : relu) value = std::max(0.f, value);
    FeedParameters();
    RunOp(&ws_, Make("SpatialBNRelu", is_test));
    ExpectImage(ws_, "Y", dims_, relu, nhwc_, 1e-4f, 1e-4f);
    FeedParameters();
    RunOp(&ws_, Make("SpatialBNSumRelu", is_test));
    ExpectImage(ws_, "Y", dims_, sum, nhwc_, 1e-4f, 1e-4f);
  }
}

// The fused operators have the same gradients as the chain of separate ones.
TEST_P(SpatialBNTest, FusedGradientsEqualTheSeparateOnes) {
  const std::vector<float> dy = RandomValues(CheckedNumel(dims_), 7);
  const std::vector<int64_t> dims = Fetch(ws_, "X").sizes();
  for (const bool is_test : {false, true}) {
    for (const bool sum : {false, true}) {
      FeedParameters();
      const OperatorDef fused = Make(sum ? "SpatialBNSumRelu" : "SpatialBNRelu", is_test);
      RunOp(&ws_, fused);
      const std::vector<float> y = FetchValues<float>(ws_, "Y");
      FeedImage(&ws_, "Y_grad", dims_, dy, nhwc_);
      const auto gradient_of = [&](const OperatorDef& op) {
        std::vector<GradientWrapper> dy_blob(op.output_size());
        dy_blob[0].dense = "Y_grad";
        for (const OperatorDef& g : GetGradientForOp(op, dy_blob).ops) RunOp(&ws_, g);
      };
      gradient_of(fused);
      const auto dx = FetchValues<float>(ws_, "X_grad"), ds = FetchValues<float>(ws_, "s_grad"),
                 db = FetchValues<float>(ws_, "b_grad");
      std::vector<float> masked = FetchValues<float>(ws_, "Y_grad");
      for (size_t i = 0; i < y.size(); ++i) masked[i] = y[i] > 0 ? masked[i] : 0;
      if (sum) ExpectTensor(ws_, "Z_grad", dims, masked, 0.f, 0.f);
      Feed(&ws_, "Y_grad", dims, masked);
      gradient_of(Make("SpatialBN", is_test));
      ExpectTensor(ws_, "X_grad", dims, dx, 1e-5f, 1e-5f);
      ExpectTensor(ws_, "s_grad", {dims_[1]}, ds, 1e-5f, 1e-4f);
      ExpectTensor(ws_, "b_grad", {dims_[1]}, db, 1e-5f, 1e-4f);
    }
  }
}

TEST_P(SpatialBNTest, BFloat16RoundsOnlyTheResult) {
  x_ = Rounded(x_);
  z_ = Rounded(z_);
  FeedImage(&ws_, "X", dims_, ToBFloat16(x_), nhwc_);
  FeedImage(&ws_, "Z", dims_, ToBFloat16(z_), nhwc_);
  RunOp(&ws_, Make("SpatialBNSumRelu", false));
  const Reference expected = Expected(false);
  std::vector<float> y = expected.y;
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::max(0.f, y[i] + z_[i]);
  WidenBlob(&ws_, "Y");
  ExpectImage(ws_, "Y", dims_, y, nhwc_, 5e-3f, 1e-4f);
  ExpectTensor(ws_, "sm", {dims_[1]}, expected.mean, 1e-5f, 1e-5f);
  ExpectTensor(ws_, "siv", {dims_[1]}, expected.inverse_std, 1e-4f, 1e-5f);
}

// The gradient of bfloat16 images is that of the same values in float, rounded once.
TEST_P(SpatialBNTest, BFloat16Gradient) {
  const std::vector<float> dy = Rounded(RandomValues(CheckedNumel(dims_), 7));
  std::vector<float> dx, d_scale;
  for (const bool narrow : {false, true}) {
    if (narrow) {
      FeedImage(&ws_, "X", dims_, ToBFloat16(x_), nhwc_);
      FeedImage(&ws_, "dY", dims_, ToBFloat16(dy), nhwc_);
    } else {
      FeedImage(&ws_, "X", dims_, Rounded(x_), nhwc_);
      FeedImage(&ws_, "dY", dims_, dy, nhwc_);
    }
    FeedParameters();
    RunOp(&ws_, Make("SpatialBNRelu", false));
    RunOp(&ws_, Op("SpatialBNReluGradient", {"X", "s", "b", "dY", "sm", "siv"}, {"dX", "ds", "db"},
                   {MakeArgument<std::string>("order", OrderName(nhwc_))}));
    if (narrow) break;
    dx = FetchValues<float>(ws_, "dX");
    d_scale = FetchValues<float>(ws_, "ds");
  }
  WidenBlob(&ws_, "dX");
  ExpectTensor(ws_, "dX", Fetch(ws_, "X").sizes(), dx, 5e-3f, 1e-5f);
  ExpectTensor(ws_, "ds", {dims_[1]}, d_scale, 1e-5f, 1e-5f);
}

INSTANTIATE_TEST_SUITE_P(
    All, SpatialBNTest,
    ::testing::Combine(
        ::testing::ValuesIn(std::vector<std::vector<int64_t>>{
            {2, 3, 5, 7}, {4, 64, 20, 20}, {3, 2000, 5, 5}, {9, 5}, {3, 4, 50}, {2, 3, 2, 3, 4}}),
        ::testing::Bool()),
    [](const auto& info) { return "case" + std::to_string(info.index); });

std::vector<Argument> Order(bool nhwc) {
  return {MakeArgument<std::string>("order", OrderName(nhwc))};
}
const std::vector<std::string> kInputs = {"X", "s", "b", "rm", "rv"};
const std::vector<std::string> kOutputs = {"Y", "rm", "rv", "sm", "siv"};

void FeedAll(Workspace* ws, const std::vector<int64_t>& dims, int64_t channels) {
  FeedRandom(ws, "X", dims, 1);
  FeedRandom(ws, "s", {channels}, 2, 0.5f, 1.5f);
  FeedRandom(ws, "b", {channels}, 3);
  FeedRandom(ws, "rm", {channels}, 4);
  FeedRandom(ws, "rv", {channels}, 5, 0.5f, 1.5f);
}

TEST(SpatialBN, Gradient) {
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    FeedAll(&ws, nhwc ? std::vector<int64_t>{2, 3, 3, 2} : std::vector<int64_t>{2, 2, 3, 3}, 2);
    CheckGradient(&ws, Op("SpatialBN", kInputs, kOutputs, Order(nhwc)), {0, 1, 2});
    // Far from the kink: one channel is above zero for certain, the other below.
    Feed(&ws, "b", {2}, std::vector<float>{20, -20});
    CheckGradient(&ws, Op("SpatialBNRelu", kInputs, kOutputs, Order(nhwc)), {0, 1, 2});
    FeedRandom(&ws, "Z", Fetch(ws, "X").sizes(), 6);
    CheckGradient(&ws,
                  Op("SpatialBNSumRelu", {"X", "s", "b", "rm", "rv", "Z"}, kOutputs, Order(nhwc)),
                  {0, 1, 2, 5});
    std::vector<Argument> test = Order(nhwc);
    test.push_back(MakeArgument<int>("is_test", 1));
    CheckGradient(&ws, Op("SpatialBN", kInputs, {"Y"}, test), {0, 1, 2});
  }
}

TEST(SpatialBN, InPlace) {
  Workspace ws;
  FeedAll(&ws, {2, 3, 4, 4}, 3);
  RunOp(&ws, Op("SpatialBN", kInputs, kOutputs));
  const std::vector<float> y = FetchValues<float>(ws, "Y");
  RunOp(&ws, Op("SpatialBN", kInputs, {"X", "rm", "rv", "sm", "siv"}));
  ExpectTensor(ws, "X", {2, 3, 4, 4}, y, 0.f, 0.f);
}

// A mean far from zero must not swallow the variance.
TEST(SpatialBN, LargeMean) {
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    const std::vector<int64_t> dims = {16, 1, 32, 32};
    FeedAll(&ws, dims, 1);
    std::vector<float> x = FetchValues<float>(ws, "X");
    const auto n = static_cast<double>(x.size());
    double mean = 0, variance = 0;
    for (float& value : x) mean += (value += 4096) / n;
    for (float value : x) variance += (value - mean) * (value - mean) / n;
    FeedImage(&ws, "X", dims, x, nhwc);
    std::vector<Argument> args = Order(nhwc);
    args.push_back(MakeArgument<float>("epsilon", 0.f));
    RunOp(&ws, Op("SpatialBN", kInputs, kOutputs, args));
    ExpectTensor(ws, "siv", {1}, {static_cast<float>(1 / std::sqrt(variance))}, 1e-3f);
  }
}

// Means are rounded once, and squares of constants do not overflow.
TEST(SpatialBN, MeansFarFromZeroAreExact) {
  for (const bool nhwc : {false, true}) {
    for (const double shift : {1e4, 1e30}) {
      Workspace ws;
      const std::vector<int64_t> dims = {20, 2, 33, 31};
      FeedAll(&ws, dims, 2);
      std::vector<float> x = FetchValues<float>(ws, "X");
      std::vector<double> mean(2);
      const int64_t area = 33 * 31;
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(x[i] + shift);
        mean[i / area % 2] += x[i] / (20. * area);
      }
      FeedImage(&ws, "X", dims, x, nhwc);
      RunOp(&ws, Op("SpatialBN", kInputs, kOutputs, Order(nhwc)));
      ExpectTensor(ws, "sm", {2}, {static_cast<float>(mean[0]), static_cast<float>(mean[1])},
                   6.1e-8f, 0);
      for (const float siv : FetchValues<float>(ws, "siv")) EXPECT_TRUE(std::isfinite(siv)) << siv;
    }
  }
}

// Two halves with exchanged sums are one batch of both.
TEST(SpatialBN, SeveralBatchesEqualOneLargeOne) {
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    const std::vector<int64_t> half = {2, 3, 4, 5}, whole = {4, 3, 4, 5};
    const int64_t n = CheckedNumel(half);
    FeedAll(&ws, {1, 3}, 3);
    const std::vector<float> x = RandomValues(2 * n, 1), dy = RandomValues(2 * n, 8);
    FeedImage(&ws, "X", whole, x, nhwc);
    FeedImage(&ws, "dY", whole, dy, nhwc);
    FeedImage(&ws, "X0", half, std::vector<float>(x.begin(), x.begin() + n), nhwc);
    FeedImage(&ws, "X1", half, std::vector<float>(x.begin() + n, x.end()), nhwc);
    FeedImage(&ws, "dY0", half, std::vector<float>(dy.begin(), dy.begin() + n), nhwc);
    FeedImage(&ws, "dY1", half, std::vector<float>(dy.begin() + n, dy.end()), nhwc);
    for (const char* copy : {"rm0", "rm1"}) Feed(&ws, copy, {3}, FetchValues<float>(ws, "rm"));
    for (const char* copy : {"rv0", "rv1"}) Feed(&ws, copy, {3}, FetchValues<float>(ws, "rv"));
    RunOp(&ws, Op("SpatialBN", kInputs, kOutputs, Order(nhwc)));
    RunOp(&ws,
          Op("SpatialBNGradient", {"X", "s", "dY", "sm", "siv"}, {"dX", "ds", "db"}, Order(nhwc)));

    const auto add = [&](const std::string& name) {
      std::vector<float> sum = FetchValues<float>(ws, name + "0");
      const std::vector<float> other = FetchValues<float>(ws, name + "1");
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += other[c];
      Feed(&ws, name, {3}, sum);
    };
    std::vector<Argument> args = Order(nhwc);
    args.push_back(MakeArgument<int>("num_batches", 2));
    for (const std::string i : {"0", "1"}) {
      RunOp(&ws, Op("ChannelStats", {"X" + i}, {"sum" + i, "sumsq" + i}, Order(nhwc)));
    }
    add("sum");
    add("sumsq");
    for (const std::string i : {"0", "1"}) {
      RunOp(&ws, Op("SpatialBN", {"X" + i, "s", "b", "rm" + i, "rv" + i, "sum", "sumsq"},
                    {"Y" + i, "rm" + i, "rv" + i, "sm" + i, "siv" + i}, args));
      RunOp(&ws, Op("ChannelBackpropStats", {"X" + i, "sm" + i, "siv" + i, "dY" + i},
                    {"ps" + i, "pb" + i}, Order(nhwc)));
    }
    add("ps");
    add("pb");
    std::vector<float> y, dx;
    for (const std::string i : {"0", "1"}) {
      RunOp(&ws, Op("SpatialBNGradient", {"X" + i, "s", "dY" + i, "sm" + i, "siv" + i, "ps", "pb"},
                    {"dX" + i, "ds" + i, "db" + i}, args));
      for (float value : FetchValues<float>(ws, "Y" + i)) y.push_back(value);
      for (float value : FetchValues<float>(ws, "dX" + i)) dx.push_back(value);
    }
    ExpectTensor(ws, "Y", Fetch(ws, "X").sizes(), y, 1e-4f, 1e-5f);
    ExpectTensor(ws, "dX", Fetch(ws, "X").sizes(), dx, 1e-4f, 1e-5f);
    ExpectTensor(ws, "rv", {3}, FetchValues<float>(ws, "rv1"), 1e-4f);
    add("ds");  // overwrites the whole batch's, which must be the sum of the halves'
    ExpectTensor(ws, "ds", {3}, FetchValues<float>(ws, "ps"), 1e-4f, 1e-5f);
  }
}

TEST(SpatialBN, EmptyBatchLeavesTheRunningStatistics) {
  Workspace ws;
  FeedAll(&ws, {0, 2, 3, 3}, 2);
  const std::vector<float> mean = FetchValues<float>(ws, "rm");
  RunOp(&ws, Op("SpatialBN", kInputs, kOutputs));
  ExpectTensor(ws, "Y", {0, 2, 3, 3}, {});
  ExpectTensor(ws, "rm", {2}, mean, 0.f, 0.f);
  RunOp(&ws, Op("SpatialBNGradient", {"X", "s", "Y", "sm", "siv"}, {"dX", "ds", "db"}));
  ExpectTensor(ws, "ds", {2}, {0, 0});
  // Nor has it a share in the sums of several.
  RunOp(&ws, Op("SpatialBNGradient", {"X", "s", "Y", "sm", "siv", "s", "b"}, {"dX", "ds", "db"},
                {MakeArgument<int>("num_batches", 2)}));
  ExpectTensor(ws, "ds", {2}, {0, 0});
  ExpectTensor(ws, "db", {2}, {0, 0});
}

// Images so large that results are streamed past the caches. Compares with the same images one at a
// time, which are small, and with the statistics of the whole as constants (is_test).
TEST(SpatialBN, LargeResultsEqualSmallOnes) {
  constexpr int64_t kBatch = 3, kChannels = 24, kSize = 220;  // 13.3 MB
  for (bool nhwc : {true, false}) {
    std::vector<Argument> args = Order(nhwc);
    args.push_back(MakeArgument<int>("is_test", 1));
    const auto dims = [&](int64_t n) {
      return nhwc ? std::vector<int64_t>{n, kSize, kSize, kChannels}
                  : std::vector<int64_t>{n, kChannels, kSize, kSize};
    };
    const auto run = [&](Workspace* ws) {
      RunOp(ws, Op("SpatialBNSumRelu", {"X", "s", "b", "rm", "rv", "Z"}, {"Y"}, args));
      RunOp(ws, Op("SpatialBNReluGradient", {"X", "s", "b", "Z", "rm", "rv"}, {"dX", "ds", "db"},
                   args));
    };
    Workspace large;
    FeedAll(&large, dims(kBatch), kChannels);
    FeedRandom(&large, "Z", dims(kBatch), 6);
    run(&large);
    std::vector<float> y, dx;
    for (int64_t i = 0; i < kBatch; ++i) {
      Workspace small;
      FeedAll(&small, dims(1), kChannels);
      for (const char* name : {"X", "Z"}) {
        const std::vector<float> values = FetchValues<float>(large, name);
        const auto n = static_cast<int64_t>(values.size()) / kBatch;
        Feed(&small, name, dims(1),
             std::vector<float>(values.begin() + i * n, values.begin() + (i + 1) * n));
      }
      run(&small);
      for (float value : FetchValues<float>(small, "Y")) y.push_back(value);
      for (float value : FetchValues<float>(small, "dX")) dx.push_back(value);
    }
    EXPECT_EQ(FetchValues<float>(large, "Y"), y) << nhwc;
    EXPECT_EQ(FetchValues<float>(large, "dX"), dx) << nhwc;
  }
}

TEST(SpatialBN, ResultsDoNotDependOnTheThreads) {
  const int threads_before = omp_get_max_threads();
  std::vector<float> first[2];
  for (int threads : {1, 2}) {
    omp_set_num_threads(threads);
    Workspace ws;
    FeedAll(&ws, {16, 20, 20, 64}, 64);
    RunOp(&ws, Op("SpatialBN", kInputs, kOutputs, Order(true)));
    first[threads - 1] = FetchValues<float>(ws, "Y");
  }
  omp_set_num_threads(threads_before);
  EXPECT_EQ(first[0], first[1]);
}

// Y = X here, so that the gradient passes exactly where X is above zero: not at zeros of either
// sign, at negative numbers or NaN, but at the smallest number and at infinity.
TEST(SpatialBN, ReluGradientAtTheEdges) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x, expected;
  for (int i = 0; i < 4; ++i) {  // whole vectors, too
    for (float value : {0.f, -0.f, -kTiny, -1.f, -kInf, kNan, -kNan, kTiny, 1.f, kInf}) {
      x.push_back(value);
      expected.push_back(value > 0 ? 3.f : 0.f);
    }
  }
  const auto n = static_cast<int64_t>(x.size());
  Workspace ws;
  Feed(&ws, "X", {1, n}, std::vector<float>(n, 1.f));
  Feed(&ws, "Y", {1, n}, x);
  Feed(&ws, "dY", {1, n}, std::vector<float>(n, 3.f));
  for (const char* name : {"s", "sm", "siv"}) Feed(&ws, name, {n}, std::vector<float>(n, 1.f));
  RunOp(&ws, Op("SpatialBNSumReluGradient", {"X", "s", "Y", "dY", "sm", "siv"},
                {"dX", "ds", "db", "dZ"}, Order(true)));
  ExpectTensor(ws, "dZ", {1, n}, expected);
  ExpectTensor(ws, "db", {n}, expected);
}

TEST(SpatialBN, RefusesWhatCannotWork) {
  Workspace ws;
  FeedAll(&ws, {2, 3, 4, 4}, 3);
  Feed(&ws, "short", {2}, std::vector<float>{1, 2});
  ExpectThrows(&ws, Op("SpatialBN", {"X", "short", "b", "rm", "rv"}, kOutputs), "one value");
  ExpectThrows(&ws, Op("SpatialBN", kInputs, {"Y"}), "is_test");
  ExpectThrows(&ws, Op("SpatialBN", kInputs, kOutputs, {MakeArgument<float>("momentum", 1.5f)}),
               "momentum");
  ExpectThrows(&ws, Op("SpatialBN", kInputs, kOutputs, {MakeArgument<float>("epsilon", -1.f)}),
               "epsilon");
  ExpectThrows(&ws, Op("SpatialBN", kInputs, kOutputs, {MakeArgument<int>("num_batches", 2)}),
               "num_batches");
  ExpectThrows(&ws, Op("SpatialBN", {"b", "s", "b", "rm", "rv"}, kOutputs), "shape [3]");
  ExpectThrows(&ws, Op("SpatialBNGradient", {"X", "s", "s", "rm", "rv"}, {"dX", "ds", "db"}), "dY");
}

}  // namespace
}  // namespace caffe2::testing

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

struct Activation {
  const char* type;
  std::function<double(double)> function;
  std::vector<Argument> args;
};

const std::vector<Activation>& Activations() {
  static const std::vector<Activation> activations = {
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, {}},
      {"Tanh", [](double x) { return std::tanh(x); }, {}},
      {"Softplus", [](double x) { return std::log1p(std::exp(x)); }, {}},
      {"Elu",
       [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); },
       {MakeArgument<float>("alpha", 0.7f)}},
      {"LeakyRelu",
       [](double x) { return x > 0 ? x : 0.3 * x; },
       {MakeArgument<float>("alpha", 0.3f)}},
      {"Selu",
       [](double x) { return 1.5 * (x > 0 ? x : 0.7 * std::expm1(x)); },
       {MakeArgument<float>("alpha", 0.7f), MakeArgument<float>("scale", 1.5f)}},
      {"ThresholdedRelu",
       [](double x) { return x <= 0.05 ? 0 : x; },
       {MakeArgument<float>("alpha", 0.05f)}},
  };
  return activations;
}

class ActivationTest : public ::testing::TestWithParam<int> {
 protected:
  const Activation& activation() const { return Activations()[GetParam()]; }
};

TEST_P(ActivationTest, MatchesReference) {
  Workspace ws;
  const int64_t n = 50001;  // more than one part
  FeedRandom(&ws, "X", {n}, 1, -30, 30);
  std::vector<float> expected;
  for (const float x : FetchValues<float>(ws, "X")) {
    expected.push_back(static_cast<float>(activation().function(x)));
  }
  RunOp(&ws, Op(activation().type, {"X"}, {"Y"}, activation().args));
  ExpectTensor(ws, "Y", {n}, expected, 2e-6f, 2e-7f);
  RunOp(&ws, Op(activation().type, {"X"}, {"X"}, activation().args));
  ExpectTensor(ws, "X", {n}, expected, 2e-6f, 2e-7f);
}

TEST_P(ActivationTest, IsPreciseNearZeroAndTakesExtremes) {
  Workspace ws;
  std::vector<float> x{0, 1e-20f, -1e-6f, 1e-3f, 0.19f, 0.21f, -0.5f, 80, -80};
  std::vector<float> expected;
  for (const float value : x) expected.push_back(static_cast<float>(activation().function(value)));
  Feed(&ws, "X", {9}, x);
  RunOp(&ws, Op(activation().type, {"X"}, {"Y"}, activation().args));
  ExpectTensor(ws, "Y", {9}, expected, 5e-7f, 0);
  const float infinity = INFINITY, nan = NAN;
  Feed<float>(&ws, "E", {3}, {infinity, -infinity, nan});
  RunOp(&ws, Op(activation().type, {"E"}, {"Y"}, activation().args));
  ExpectTensor(ws, "Y", {3},
               {static_cast<float>(activation().function(INFINITY)),
                static_cast<float>(activation().function(-INFINITY)), nan});
}

TEST_P(ActivationTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4}, 1, -2, 2, 0.1f);
  CheckGradient(&ws, Op(activation().type, {"X"}, {"Y"}, activation().args), {0});
  CheckGradient(&ws, Op(activation().type, {"X"}, {"X"}, activation().args), {0});
}

TEST_P(ActivationTest, RejectsOtherTypes) {
  Workspace ws;
  Feed<int>(&ws, "I", {1}, {1});
  ExpectThrows(&ws, Op(activation().type, {"I"}, {"Y"}), "int");
}

INSTANTIATE_TEST_SUITE_P(All, ActivationTest, ::testing::Range(0, 7),
                         [](const auto& info) { return Activations()[info.param].type; });

// Activations whose gradient needs the input, so that they cannot overwrite it.
TEST(ActivationOfInputTest, MatchReferences) {
  Workspace ws;
  FeedRandom(&ws, "X", {40}, 1, -8, 8);
  FeedRandom(&ws, "P", {40}, 2, -0.2f, 1.2f);
  std::vector<float> softsign, swish, mish, logit;
  for (const double x : FetchValues<float>(ws, "X")) {
    softsign.push_back(static_cast<float>(x / (1 + std::abs(x))));
    swish.push_back(static_cast<float>(x / (1 + std::exp(-x))));
    mish.push_back(static_cast<float>(x * std::tanh(std::log(1 + std::exp(x)))));
  }
  for (const double x : FetchValues<float>(ws, "P")) {
    const double p = std::min(std::max(x, 0.1), 0.9);
    logit.push_back(static_cast<float>(std::log(p / (1 - p))));
  }
  RunOp(&ws, Op("Softsign", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {40}, softsign);
  RunOp(&ws, Op("Swish", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {40}, swish);
  RunOp(&ws, Op("Mish", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {40}, mish);
  RunOp(&ws, Op("Logit", {"P"}, {"Y"}, {MakeArgument<float>("eps", 0.1f)}));
  ExpectTensor(ws, "Y", {40}, logit, 1e-5f, 1e-5f);
  ExpectThrows(&ws, Op("Logit", {"P"}, {"Y"}, {MakeArgument<float>("eps", 0.5f)}), "eps");
  ExpectThrows(&ws, Op("Selu", {"X"}, {"Y"}, {MakeArgument<float>("scale", 0.9f)}), "scale");
}

TEST(ActivationOfInputTest, GradientsAreNumericOnes) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4}, 1, -2, 2, 0.1f);
  FeedRandom(&ws, "P", {3, 4}, 2, 0.2f, 0.8f);
  CheckGradient(&ws, Op("Softsign", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Swish", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Mish", {"X"}, {"Y"}), {0});
  Feed<float>(&ws, "far", {3}, {-1000, 0, 1000});
  RunOp(&ws, Op("Mish", {"far"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {0, 0, 1000});
  CheckGradient(&ws, Op("Logit", {"P"}, {"Y"}), {0});
  GradientWrapper gradient;
  gradient.dense = "X_grad";
  EXPECT_THROW(GetGradientForOp(Op("Softsign", {"X"}, {"X"}), {gradient}), EnforceNotMet);
}

TEST(PReluTest, HasOneSlopeOrOnePerChannel) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2, 2}, {-1, 2, -3, -4});
  Feed<float>(&ws, "one", {1}, {0.5f});
  Feed<float>(&ws, "two", {2}, {0.5f, 2});
  RunOp(&ws, Op("PRelu", {"X", "one"}, {"Y"}));
  ExpectTensor(ws, "Y", {1, 2, 2}, {-0.5f, 2, -1.5f, -2});
  RunOp(&ws, Op("PRelu", {"X", "two"}, {"Y"}));
  ExpectTensor(ws, "Y", {1, 2, 2}, {-0.5f, 2, -6, -8});
  const auto nhwc = MakeArgument<std::string>("order", "NHWC");
  RunOp(&ws, Op("PRelu", {"X", "two"}, {"X"}, {nhwc}));
  ExpectTensor(ws, "X", {1, 2, 2}, {-0.5f, 2, -1.5f, -8});
}

TEST(PReluTest, GradientIsNumericOne) {
  for (const char* order : {"NCHW", "NHWC"}) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, 3, 2, 3}, 1, -1, 1, 0.1f);
    FeedRandom(&ws, "slope", {3}, 2);
    FeedRandom(&ws, "one", {1}, 2);
    const auto arg = MakeArgument<std::string>("order", order);
    CheckGradient(&ws, Op("PRelu", {"X", "slope"}, {"Y"}, {arg}), {0, 1});
    CheckGradient(&ws, Op("PRelu", {"X", "one"}, {"Y"}, {arg}), {0, 1});
  }
}

// More channels than a CUDA grid has room for in its second dimension.
TEST(PReluTest, GradientTakesManyChannels) {
  if (IsEmulated()) GTEST_SKIP() << "the emulation needs many seconds for as many blocks";
  constexpr int kChannels = 65537;
  Workspace ws;
  std::vector<float> x(kChannels), dx(kChannels), d_slope(kChannels);
  for (int c = 0; c < kChannels; ++c) {
    x[c] = static_cast<float>(c % 3 - 1);
    dx[c] = x[c] > 0 ? -2.f : -1.f;
    d_slope[c] = x[c] < 0 ? 2.f : 0.f;
  }
  Feed(&ws, "X", {1, kChannels}, x);
  Feed(&ws, "slope", {kChannels}, std::vector<float>(kChannels, 0.5f));
  Feed(&ws, "dY", {1, kChannels}, std::vector<float>(kChannels, -2));
  RunOp(&ws, Op("PReluGradient", {"X", "X", "slope", "dY"}, {"dX", "d_slope"}));
  EXPECT_EQ(FetchValues<float>(ws, "dX"), dx);
  EXPECT_EQ(FetchValues<float>(ws, "d_slope"), d_slope);
}

TEST(PReluTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  FeedRandom(&ws, "slope", {2}, 2);
  ExpectThrows(&ws, Op("PRelu", {"X", "slope"}, {"Y"}), "slope [2]");
  ExpectThrows(&ws,
               Op("PRelu", {"X", "slope"}, {"Y"}, {MakeArgument<std::string>("order", "HWCN")}),
               "HWCN");
  GradientWrapper gradient;
  gradient.dense = "X_grad";
  EXPECT_THROW(GetGradientForOp(Op("PRelu", {"X", "slope"}, {"X"}), {gradient}), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing

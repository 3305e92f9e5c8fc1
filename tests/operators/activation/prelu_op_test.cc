#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

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
  ExpectThrows(&ws, Op("PRelu", {"X", "slope"}, {"Y"}),
               "Slope must have one element, or one for each channel: Slope has shape [2], X [2, "
               "3] in order NCHW");
  ExpectThrows(&ws,
               Op("PRelu", {"X", "slope"}, {"Y"}, {MakeArgument<std::string>("order", "HWCN")}),
               "HWCN");
  GradientWrapper gradient;
  gradient.dense = "X_grad";
  EXPECT_THROW(GetGradientForOp(Op("PRelu", {"X", "slope"}, {"X"}), {gradient}), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing

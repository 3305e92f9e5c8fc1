// GroupNorm and RMSNorm.
#include <array>
#include <cmath>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

std::vector<Argument> GroupArguments(int group, bool nhwc) {
  return {MakeArgument("group", group), MakeArgument("epsilon", 1e-3f),
          MakeArgument<std::string>("order", nhwc ? "NHWC" : "NCHW")};
}

class GroupNormSizesTest : public ::testing::TestWithParam<std::array<int64_t, 3>> {};

TEST_P(GroupNormSizesTest, MatchesReferenceInBothOrders) {
  const auto [groups, depth, width] = GetParam();
  const int64_t images = 2, size = 2 * width, channels = groups * depth;
  const std::vector<int64_t> dims = {images, channels, 2, width};
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    const std::vector<float> x = RandomValues(images * channels * size, 1, -1, 3);
    FeedImage(&ws, "X", dims, x, nhwc);
    FeedRandom(&ws, "gamma", {channels}, 2);
    FeedRandom(&ws, "beta", {channels}, 3);
    const auto gamma = FetchValues<float>(ws, "gamma"), beta = FetchValues<float>(ws, "beta");
    std::vector<float> y, mean, inverse;
    for (int64_t k = 0; k < images * groups; ++k) {  // a group is contiguous in NCHW
      const int64_t n = depth * size;
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < n; ++i) sum += x[k * n + i];
      for (int64_t i = 0; i < n; ++i) squares += std::pow(x[k * n + i] - sum / n, 2);
      mean.push_back(static_cast<float>(sum / n));
      inverse.push_back(static_cast<float>(1 / std::sqrt(squares / n + 1e-3)));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t c = k % groups * depth + i / size;
        y.push_back(gamma[c] * (x[k * n + i] - mean.back()) * inverse.back() + beta[c]);
      }
    }
    const auto args = GroupArguments(groups, nhwc);
    const OperatorDef op = Op("GroupNorm", {"X", "gamma", "beta"}, {"Y", "mean", "inv_std"}, args);
    RunOp(&ws, op);
    ExpectImage(ws, "Y", dims, y, nhwc);
    ExpectTensor(ws, "mean", {images, groups}, mean);
    ExpectTensor(ws, "inv_std", {images, groups}, inverse);
    RunOp(&ws, Op("GroupNorm", {"X", "gamma", "beta"}, {"Y1"}, args));
    ExpectImage(ws, "Y1", dims, y, nhwc);
    CheckGradient(&ws, op, {0, 1, 2});
  }
}

// Few elements; more channels than are handled at once; runs longer than the lanes.
INSTANTIATE_TEST_SUITE_P(
    Sizes, GroupNormSizesTest,
    ::testing::ValuesIn({std::array<int64_t, 3>{3, 2, 3}, {36, 2, 2}, {3, 5, 11}}));

TEST(GroupNormTest, TakesNoImagesVolumesAndBFloat16) {
  Workspace ws;
  FeedRandom(&ws, "gamma", {4}, 2);
  FeedRandom(&ws, "beta", {4}, 3);
  const auto run = [&](const std::vector<std::string>& outputs) {
    RunOp(&ws, Op("GroupNorm", {"X", "gamma", "beta"}, outputs, GroupArguments(2, false)));
  };
  FeedRandom(&ws, "X", {0, 4, 3}, 1);
  run({"Y", "mean", "inv_std"});
  ExpectTensor(ws, "Y", {0, 4, 3}, {});
  FeedRandom(&ws, "X", {2, 4, 2, 1, 3}, 1);
  run({"Y"});
  const auto y = FetchValues<float>(ws, "Y");
  Feed(&ws, "X", {2, 4, 2, 1, 3}, ToBFloat16(FetchValues<float>(ws, "X")));
  run({"Y"});
  WidenBlob(&ws, "Y");
  ExpectTensor(ws, "Y", {2, 4, 2, 1, 3}, y, 0.02f, 0.02f);
}

TEST(GroupNormTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 4, 3}, 1);
  FeedRandom(&ws, "four", {4}, 2);
  FeedRandom(&ws, "three", {3}, 2);
  const auto op = [](int group, const char* gamma, const char* beta) {
    return Op("GroupNorm", {"X", gamma, beta}, {"Y"}, GroupArguments(group, false));
  };
  ExpectThrows(&ws, op(3, "four", "four"),
               "the 4 channels of X must be a multiple of the argument group (3)");
  ExpectThrows(&ws, op(0, "four", "four"), "group");
  ExpectThrows(&ws, op(2, "three", "four"),
               "gamma and beta must have one element for each of the 4 channels of X: gamma has "
               "shape [3], beta [4], X [2, 4, 3]");
  ExpectThrows(&ws, op(2, "four", "three"), "beta [3]");
  GradientWrapper gradient;
  gradient.dense = "Y_grad";
  EXPECT_THROW(GetGradientForOp(op(2, "four", "four"), {gradient}), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing

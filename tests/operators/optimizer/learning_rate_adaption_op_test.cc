#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(LearningRateAdaptionTest, FollowsTheAngleOfGradients) {
  Workspace ws;
  Feed<float>(&ws, "lr", {1}, {0.5f});
  Feed<float>(&ws, "g", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "e", {4}, {2, 0, 1, -1});
  const std::vector<std::string> inputs{"lr", "g", "e"};
  const auto alpha = MakeArgument("lr_alpha", 0.1f);
  // dot = 1, norms sqrt(30) and sqrt(6)
  RunOp(&ws, Op("LearningRateAdaption", inputs, {"y"}, {alpha}));
  ExpectTensor(ws, "y", {1}, {0.5f - 0.05f / std::sqrt(180.f)});
  RunOp(&ws, Op("LearningRateAdaption", inputs, {"y"},
                {alpha, MakeArgument("normalized_lr_adaption", 0)}));
  ExpectTensor(ws, "y", {1}, {0.4f});
  Feed<float>(&ws, "e", {4}, {0, 0, 0, 0});
  RunOp(&ws, Op("LearningRateAdaption", inputs, {"y"}, {alpha}));
  ExpectTensor(ws, "y", {1}, {0.5f});
  Feed<float>(&ws, "e", {3}, {0, 0, 0});
  ExpectThrows(&ws, Op("LearningRateAdaption", inputs, {"y"}, {alpha}), "grad and effgrad");
}

}  // namespace
}  // namespace caffe2::testing

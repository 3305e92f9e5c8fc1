#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(FlattenOpTest, Shapes) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  const auto values = FetchValues<float>(ws, "X");
  const std::vector<std::pair<int, std::vector<int64_t>>> cases = {
      {0, {1, 24}}, {1, {2, 12}}, {2, {6, 4}}, {3, {24, 1}}, {-1, {6, 4}}};
  for (const auto& [axis, shape] : cases) {
    RunOp(&ws, Op("Flatten", {"X"}, {"Y"}, {MakeArgument("axis", axis)}));
    ExpectTensor(ws, "Y", shape, values);
  }
  RunOp(&ws, Op("FlattenToVec", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {24}, values);
  FeedRandom(&ws, "like", {4, 6}, 1);
  RunOp(&ws, Op("ResizeLike", {"X", "like"}, {"Y"}));
  ExpectTensor(ws, "Y", {4, 6}, values);
  CheckGradient(&ws, Op("Flatten", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("FlattenToVec", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("ResizeLike", {"X", "like"}, {"Y"}), {0});
  ExpectThrows(&ws, Op("Flatten", {"X"}, {"Y"}, {MakeArgument("axis", 4)}), "out of range");
  FeedRandom(&ws, "like", {4}, 1);
  ExpectThrows(&ws, Op("ResizeLike", {"X", "like"}, {"Y"}),
               "both inputs must have the same number of elements");
  FeedRandom(&ws, "scalar", {}, 1);
  ExpectThrows(&ws, Op("FlattenToVec", {"scalar"}, {"Y"}),
               "the input must have at least one axis, found a scalar");
}

}  // namespace
}  // namespace caffe2::testing

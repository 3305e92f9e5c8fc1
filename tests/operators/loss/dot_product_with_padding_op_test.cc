#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(DotProductWithPaddingTest, PadsOrRepeats) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "Y", {2, 4}, {1, 1, 1, 1, 1, 2, 3, 4});
  const auto pad = MakeArgument<float>("pad_value", 0.5f);
  const auto replicate = MakeArgument<int>("replicate", 1);
  RunOp(&ws, Op("DotProductWithPadding", {"X", "Y"}, {"Z"}, {pad}));
  ExpectTensor(ws, "Z", {2}, {4, 14.5f});
  RunOp(&ws, Op("DotProductWithPadding", {"Y", "X"}, {"Z"}, {replicate}));
  ExpectTensor(ws, "Z", {2}, {6, 36});
  FeedRandom(&ws, "X", {2, 2}, 1);
  FeedRandom(&ws, "Y", {2, 4}, 2);
  CheckGradient(&ws, Op("DotProductWithPadding", {"X", "Y"}, {"Z"}, {pad}), {0, 1});
  CheckGradient(&ws, Op("DotProductWithPadding", {"Y", "X"}, {"Z"}, {replicate}), {0, 1});
  Feed<float>(&ws, "odd", {2, 3}, std::vector<float>(6));
  ExpectThrows(&ws, Op("DotProductWithPadding", {"X", "odd"}, {"Z"}, {replicate}), "repeat");
  Feed<float>(&ws, "rows", {3, 2}, std::vector<float>(6));
  ExpectThrows(&ws, Op("DotProductWithPadding", {"X", "rows"}, {"Z"}),
               "X and Y must have the same number of rows: X has shape [2, 2], Y [3, 2]");
}

}  // namespace
}  // namespace caffe2::testing

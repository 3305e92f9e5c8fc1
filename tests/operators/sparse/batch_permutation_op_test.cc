#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BatchPermutationTest, ReordersRows) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2}, 1);
  Feed<int32_t>(&ws, "I", {3}, {2, 0, 1});
  const auto x = FetchValues<float>(ws, "X");
  const OperatorDef op = Op("BatchPermutation", {"X", "I"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2}, {x[4], x[5], x[0], x[1], x[2], x[3]}, 0, 0);
  CheckGradient(&ws, op, {0});
  Feed<int32_t>(&ws, "I", {3}, {2, 0, 2});
  ExpectThrows(&ws, op, "row 2 occurs twice");
  Feed<int32_t>(&ws, "I", {3}, {2, 0, 3});
  ExpectThrows(&ws, op, "out of range");
}

}  // namespace
}  // namespace caffe2::testing

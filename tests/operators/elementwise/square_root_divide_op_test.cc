#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SquareRootDivideTest, DividesRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<int32_t>(&ws, "S", {3}, {4, 0, 9});
  const OperatorDef op = Op("SquareRootDivide", {"X", "S"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2}, {0.5f, 1, 3, 4, 5 / 3.f, 2});
  CheckGradient(&ws, op, {0});
  Feed<float>(&ws, "S", {2}, {4, 1});
  ExpectThrows(
      &ws, op,
      "scale must have one element for each row of the data: scale has shape [2], the data [3, 2]");
}

}  // namespace
}  // namespace caffe2::testing

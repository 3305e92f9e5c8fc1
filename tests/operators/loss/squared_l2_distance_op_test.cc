#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SquaredL2DistanceTest, IsHalfTheSquare) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 1, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "Y", {2, 1, 2}, {0, 4, 3, 1});
  const OperatorDef op = Op("SquaredL2Distance", {"X", "Y"}, {"D"});
  RunOp(&ws, op);
  ExpectTensor(ws, "D", {2}, {2.5f, 4.5f});
  CheckGradient(&ws, op, {0, 1});
  Feed<float>(&ws, "E", {0, 3}, {});
  RunOp(&ws, Op("SquaredL2Distance", {"E", "E"}, {"D"}));
  ExpectTensor(ws, "D", {0}, {});
  ExpectThrows(&ws, Op("SquaredL2Distance", {"X", "E"}, {"D"}), "[0, 3]");
}

}  // namespace
}  // namespace caffe2::testing

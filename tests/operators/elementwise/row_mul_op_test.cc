#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(RowMulTest, WeighsRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {1, 2, 3, 4, 5, 6});
  Feed<float>(&ws, "w", {2}, {2, -1});
  RunOp(&ws, Op("RowMul", {"X", "w"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3}, {2, 4, 6, -4, -5, -6});
  CheckGradient(&ws, Op("RowMul", {"X", "w"}, {"Y"}), {0, 1});
  RunOp(&ws, Op("ReduceTailSum", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2}, {6, 15});
  RunOp(&ws, Op("ReduceFrontWeightedSum", {"X", "w"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {-2, -1, 0});
  CheckGradient(&ws, Op("ReduceFrontWeightedSum", {"X", "w"}, {"Y"}), {0});
  Feed<float>(&ws, "w", {3}, {1, 1, 1});
  ExpectThrows(&ws, Op("RowMul", {"X", "w"}, {"Y"}),
               "w must have one element for each row of mat: w has shape [3], mat [2, 3]");
  ExpectThrows(&ws, Op("ReduceFrontWeightedSum", {"X", "w"}, {"Y"}),
               "w must have one element for each row of mat: w has shape [3], mat [2, 3]");
}

}  // namespace
}  // namespace caffe2::testing

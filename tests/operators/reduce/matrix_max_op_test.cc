#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(MatrixMaxOpTest, RowsAndColumns) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2, 3}, {1, 9, 3, 4, 5, 6, -1, -2, -3, -9, -8, -7});
  RunOp(&ws, Op("RowwiseMax", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {9, 6, -1, -7});
  RunOp(&ws, Op("ColwiseMax", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3}, {4, 9, 6, -1, -2, -3});
  CheckGradient(&ws, Op("RowwiseMax", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("ColwiseMax", {"X"}, {"Y"}), {0});
  FeedRandom(&ws, "flat", {2, 3}, 1);
  ExpectThrows(&ws, Op("RowwiseMax", {"flat"}, {"Y"}), "batch of matrices");
  Feed<float>(&ws, "none", {2, 0, 3}, {});
  ExpectThrows(&ws, Op("ColwiseMax", {"none"}, {"Y"}), "no elements");
}

}  // namespace
}  // namespace caffe2::testing

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(AveragedLossTest, IsTheMean) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 6});
  RunOp(&ws, Op("AveragedLoss", {"X"}, {"loss"}));
  ExpectTensor(ws, "loss", {}, {3});
  CheckGradient(&ws, Op("AveragedLoss", {"X"}, {"loss"}), {0});
  Feed<float>(&ws, "E", {0}, {});
  RunOp(&ws, Op("AveragedLoss", {"E"}, {"loss"}));
  ExpectTensor(ws, "loss", {}, {0});
}

}  // namespace
}  // namespace caffe2::testing

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(AveragedLossTest, IsTheMean) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 6});
  RunOp(&ws, Op("AveragedLoss", {"X"}, {"loss"}));
  ExpectTensor(ws, "loss", {}, {3});
  CheckGradient(&ws, Op("AveragedLoss", {"X"}, {"loss"}), {0});
  for (const int64_t n : {17, 4096, 100001}) {
    FeedRandom(&ws, "X", {n}, 1, 0, 1);
    double mean = 0;
    for (const float x : FetchValues<float>(ws, "X")) mean += x / static_cast<double>(n);
    RunOp(&ws, Op("AveragedLoss", {"X"}, {"loss"}));
    ExpectTensor(ws, "loss", {}, {static_cast<float>(mean)}, 1e-6f, 0);
  }
  Feed<float>(&ws, "E", {0}, {});
  RunOp(&ws, Op("AveragedLoss", {"E"}, {"loss"}));
  ExpectTensor(ws, "loss", {}, {0});
}

}  // namespace
}  // namespace caffe2::testing

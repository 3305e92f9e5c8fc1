#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(WeightedSigmoidCrossEntropyTest, WeighsElements) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1, -3, 3);
  FeedRandom(&ws, "T", {2, 3}, 2, 0, 1);
  FeedRandom(&ws, "W", {2, 3}, 3, 0, 2);
  const auto x = FetchValues<float>(ws, "X"), t = FetchValues<float>(ws, "T"),
             w = FetchValues<float>(ws, "W");
  std::vector<float> loss;
  for (int i = 0; i < 2; ++i) {
    double sum = 0;
    for (int j = 3 * i; j < 3 * i + 3; ++j) {
      const double s = 1 / (1 + std::exp(-double{x[j]}));
      sum -= w[j] * (t[j] * std::log(s) + (1 - t[j]) * std::log(1 - s));
    }
    loss.push_back(static_cast<float>(sum / 3));
  }
  const OperatorDef op = Op("WeightedSigmoidCrossEntropyWithLogits", {"X", "T", "W"}, {"L"});
  RunOp(&ws, op);
  ExpectTensor(ws, "L", {2}, loss);
  CheckGradient(&ws, op, {0});
  Feed<float>(&ws, "X", {1, 3}, {200, -200, 0});
  Feed<float>(&ws, "T", {1, 3}, {1, 0, 0});
  ExpectThrows(&ws, op, "weights [2, 3]");
  Feed<float>(&ws, "W", {1, 3}, {1, 1, 0});
  RunOp(&ws, op);
  ExpectTensor(ws, "L", {1}, {0});  // nothing overflows
}

}  // namespace
}  // namespace caffe2::testing

#include <cmath>
#include <utility>

#include "tests/operators/loss/ranking_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(PairWiseLossTest, AveragesPairsOfDifferentLabels) {
  Workspace ws;
  const Floats x{0.3f, -0.2f, 1.1f, 0.4f, 0.9f, 2.f}, label{1, 0, 2, 2, 5, 5};
  Feed(&ws, "X", {6}, x);
  Feed(&ws, "label", {6}, label);
  Feed<int32_t>(&ws, "lengths", {3}, {4, 0, 2});
  double sum = 0;
  for (const auto& [better, worse] : {std::pair{0, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}}) {
    sum += std::log(1 + std::exp(double{x[worse]} - x[better]));
  }
  const OperatorDef op = Op("PairWiseLoss", {"X", "label", "lengths"}, {"L"});
  RunOp(&ws, op);
  ExpectTensor(ws, "L", {3}, {static_cast<float>(sum / 5), 0, 0});
  CheckGradient(&ws, op, {0});
  CheckGradient(&ws, Op("PairWiseLoss", {"X", "label"}, {"L"}), {0});
  Feed<float>(&ws, "X", {2, 1}, {1000, -1000});  // no overflow
  Feed<float>(&ws, "label", {2}, {0, 1});
  RunOp(&ws, Op("PairWiseLoss", {"X", "label"}, {"L"}));
  ExpectTensor(ws, "L", {1}, {2000});
  ExpectThrows(&ws, op, "lengths must add up to the");
  Feed<float>(&ws, "label", {3}, {0, 1, 2});
  ExpectThrows(&ws, Op("PairWiseLoss", {"X", "label"}, {"L"}), "one label for each score");
}

TEST(PairWiseLossTest, LongLists) {
  Workspace ws;
  const Floats r = FeedLongLists(&ws), y = FetchValues<float>(ws, "y");
  Floats loss, dx(y.size(), 0.f);
  int begin = 0;
  for (const int n : {kLong, kShort}) {
    double sum = 0, pairs = 0;
    std::vector<double> slope(y.size(), 0);
    for (int i = begin; i < begin + n; ++i) {
      for (int j = begin; j < begin + n; ++j) {
        if (r[i] <= r[j]) continue;
        ++pairs;
        sum += std::log(1 + std::exp(double{y[j]} - y[i]));
        slope[i] -= 1 / (1 + std::exp(double{y[i]} - y[j]));
        slope[j] += 1 / (1 + std::exp(double{y[i]} - y[j]));
      }
    }
    loss.push_back(static_cast<float>(sum / pairs));
    for (int i = begin; i < begin + n; ++i) dx[i] = static_cast<float>(2 * slope[i] / pairs);
    begin += n;
  }
  RunOp(&ws, Op("PairWiseLoss", {"y", "r", "lengths"}, {"L"}));
  ExpectTensor(ws, "L", {2}, loss);
  Feed<float>(&ws, "dL", {2}, {2, 2});
  RunOp(&ws, Op("PairWiseLossGradient", {"y", "r", "dL", "lengths"}, {"dx"}));
  ExpectTensor(ws, "dx", {kLong + kShort}, dx, 1e-4f, 1e-6f);
}

}  // namespace
}  // namespace caffe2::testing

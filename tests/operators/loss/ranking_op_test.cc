// PairWiseLoss, LambdaRankNdcg, FlexibleTopK, MultiClassAccuracy, APMeter.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

using Floats = std::vector<float>;

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
  ExpectThrows(&ws, op, "sum of the lengths");
  Feed<float>(&ws, "label", {3}, {0, 1, 2});
  ExpectThrows(&ws, Op("PairWiseLoss", {"X", "label"}, {"L"}), "lists of one length");
}

struct LambdaRank {
  double loss = 0;
  Floats dy;
};
// From the definition: ranks by counting, pairs in any order.
LambdaRank RankReference(const Floats& y, const Floats& r, bool ndcg, bool normalize,
                         bool exponential) {
  const size_t n = y.size();
  const auto discount = [n](const Floats& values, size_t i) {
    double rank = 1;
    for (size_t j = 0; j < n; ++j) {
      rank += values[j] > values[i] || (values[j] == values[i] && j < i) ? 1 : 0;
    }
    return 1 / std::log2(rank + 1);
  };
  const auto gain = [&](size_t i) {
    return ndcg && !exponential ? double{r[i]} : std::pow(2.0, r[i]);
  };
  double ideal = 0, actual = 0, pairs = 0;
  for (size_t i = 0; i < n; ++i) ideal += gain(i) * discount(r, i);
  for (size_t i = 0; i < n; ++i) actual += gain(i) * discount(y, i);
  const double scale = normalize ? 1 / ideal : 1;
  LambdaRank result;
  for (size_t i = 0; i < n; ++i) {
    double slope = 0;
    for (size_t j = 0; j < n; ++j) {
      const double weight = std::fabs((gain(i) - gain(j)) * (discount(y, i) - discount(y, j)));
      const double margin = r[i] > r[j] ? double{y[i]} - y[j] : double{y[j]} - y[i];
      pairs += weight * std::log(1 + std::exp(-margin));
      slope += weight * (r[i] > r[j] ? -1 : 1) / (1 + std::exp(margin));
    }
    result.dy.push_back(static_cast<float>(slope * scale));
  }
  result.loss = (ndcg ? ideal - actual : pairs) * scale;
  return result;
}

TEST(LambdaRankNdcgTest, FollowsTheDefinition) {
  Workspace ws;
  const Floats y{0.1f, 0.9f, -0.4f, 0.3f}, r{2, 0, 1, 0};
  Floats all_y = y, all_r = r;
  all_y.insert(all_y.end(), {0.5f, 0.6f});
  all_r.insert(all_r.end(), {0, 0});  // a list without relevance has no loss
  Feed(&ws, "y", {6}, all_y);
  Feed(&ws, "r", {6}, all_r);
  Feed<int32_t>(&ws, "lengths", {2}, {4, 2});
  for (int mode = 0; mode < 8; ++mode) {
    const bool ndcg = mode & 1, normalize = mode & 2, exponential = mode & 4;
    const LambdaRank expected = RankReference(y, r, ndcg, normalize, exponential);
    const OperatorDef op =
        Op("LambdaRankNdcg", {"y", "r", "lengths"}, {"loss", "dy"},
           {MakeArgument("use_ndcg_as_loss", ndcg), MakeArgument("use_exp_gain", exponential),
            MakeArgument("use_idcg_normalization", normalize)});
    RunOp(&ws, op);
    ExpectTensor(ws, "loss", {2}, {static_cast<float>(expected.loss), 0}, 1e-4f);
    Floats dy = expected.dy;
    dy.insert(dy.end(), {0, 0});
    ExpectTensor(ws, "dy", {6}, dy, 1e-4f);
    Feed<float>(&ws, "dloss", {2}, {2, 3});
    RunOp(&ws, Op("LambdaRankNdcgGradient", {"y", "lengths", "dy", "dloss"}, {"dx"}));
    for (float& value : dy) value *= 2;
    ExpectTensor(ws, "dx", {6}, dy, 1e-4f);
  }
  Feed(&ws, "y", {4}, y);
  Feed(&ws, "r", {4}, r);
  ExpectThrows(&ws, Op("LambdaRankNdcg", {"y", "r", "lengths"}, {"loss", "dy"}), "sum of the");
  Feed<float>(&ws, "r", {4}, {0, NAN, 0, 0});
  if (TestsCuda() && NumDevices(CUDA) > 0) {  // looking for it would wait for the device
    RunOp(&ws, Op("LambdaRankNdcg", {"y", "r"}, {"loss", "dy"}));
    EXPECT_TRUE(std::isnan(FetchValues<float>(ws, "loss")[0]));
  } else {
    ExpectThrows(&ws, Op("LambdaRankNdcg", {"y", "r"}, {"loss", "dy"}), "relevance nan");
  }
}

// So long that on a device many threads share a list.
TEST(RankingTest, LongLists) {
  Workspace ws;
  constexpr int kLong = 300, kShort = 40;
  FeedRandom(&ws, "y", {kLong + kShort}, 1);
  const Floats y = FetchValues<float>(ws, "y");
  Floats r;
  for (int i = 0; i < kLong + kShort; ++i) r.push_back(static_cast<float>(i * i % 7 % 4));
  Feed(&ws, "r", {kLong + kShort}, r);
  Feed<int64_t>(&ws, "lengths", {2}, {kLong, kShort});
  const LambdaRank first =
      RankReference({y.begin(), y.begin() + kLong}, {r.begin(), r.begin() + kLong}, 0, 1, 1);
  const LambdaRank second =
      RankReference({y.begin() + kLong, y.end()}, {r.begin() + kLong, r.end()}, 0, 1, 1);
  RunOp(&ws, Op("LambdaRankNdcg", {"y", "r", "lengths"}, {"loss", "dy"}));
  ExpectTensor(ws, "loss", {2}, {static_cast<float>(first.loss), static_cast<float>(second.loss)},
               1e-4f);
  Floats dy = first.dy;
  dy.insert(dy.end(), second.dy.begin(), second.dy.end());
  ExpectTensor(ws, "dy", {kLong + kShort}, dy, 1e-3f, 1e-5f);

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

TEST(FlexibleTopKTest, TakesAsManyOfEachRow) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 3, 4}, {1, 4, 4, 2, 0, -1, -2, -3, 8, 9, 7, 6});
  Feed<int64_t>(&ws, "k", {3}, {3, 1, 4});
  const OperatorDef op = Op("FlexibleTopK", {"X", "k"}, {"V", "I"});
  RunOp(&ws, op, true);
  ExpectTensor(ws, "V", {8}, {4, 4, 2, 0, 9, 8, 7, 6});
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 2, 3, 0, 1, 0, 2, 3}));
  Feed<float>(&ws, "X", {3, 4}, {1, 4, 3, 2, 0, -1, -2, -3, 8, 9, 7, 6});
  CheckGradient(&ws, op, {0});
  Feed<int64_t>(&ws, "k", {3}, {3, 0, 4});
  ExpectThrows(&ws, op, "k of row 1 is 0");
  Feed<int64_t>(&ws, "k", {3}, {3, 1, 5});
  ExpectThrows(&ws, op, "k of row 2 is 5");
  Feed<int64_t>(&ws, "k", {2}, {3, 1});
  ExpectThrows(&ws, op, "elements of k");
}

TEST(FlexibleTopKTest, NaNIsAboveAll) {
  Workspace ws;
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  Feed<float>(&ws, "X", {2, 4}, {infinity, nan, 1, nan, -0.f, 0, -infinity, -1});
  Feed<int32_t>(&ws, "k", {2}, {3, 4});
  RunOp(&ws, Op("FlexibleTopK", {"X", "k"}, {"V", "I"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 3, 0, 0, 1, 3, 2}));
}

// Rows that a device takes by warps and blocks, in passes or by sorting.
TEST(FlexibleTopKTest, LongRows) {
  Workspace ws;
  constexpr int kRows = 3, kWidth = 700;
  for (const std::vector<int64_t>& k : {std::vector<int64_t>{5, 1, 16}, {700, 3, 40}}) {
    FeedRandom(&ws, "X", {kRows, kWidth}, 1);
    Feed(&ws, "k", {kRows}, k);
    RunOp(&ws, Op("FlexibleTopK", {"X", "k"}, {"V", "I"}), true);
    const auto x = FetchValues<float>(ws, "X");
    Floats expected, dx(kRows * kWidth), dy;
    std::vector<int64_t> places;
    for (int r = 0; r < kRows; ++r) {
      std::vector<std::pair<float, int>> order;
      for (int j = 0; j < kWidth; ++j) order.emplace_back(-x[r * kWidth + j], j);
      std::sort(order.begin(), order.end());
      for (int64_t i = 0; i < k[r]; ++i) {
        expected.push_back(-order[i].first);
        places.push_back(order[i].second);
        dy.push_back(static_cast<float>(dy.size() + 1));
        dx[r * kWidth + places.back()] = dy.back();
      }
    }
    const auto total = static_cast<int64_t>(expected.size());
    ExpectTensor(ws, "V", {total}, expected, 0, 0);
    EXPECT_EQ(FetchValues<int64_t>(ws, "I"), places);
    Feed(&ws, "dV", {total}, dy);
    RunOp(&ws, Op("FlexibleTopKGradient", {"X", "k", "dV", "I"}, {"dX"}));
    ExpectTensor(ws, "dX", {kRows, kWidth}, dx, 0, 0);
  }
  const OperatorDef gradient = Op("FlexibleTopKGradient", {"X", "k", "dV", "I"}, {"dX"});
  auto places = FetchValues<int64_t>(ws, "I");
  places[2] = kWidth;
  Feed(&ws, "I", {static_cast<int64_t>(places.size())}, places);
  ExpectThrows(&ws, gradient, "index 700 at position 2");
  Feed<int64_t>(&ws, "I", {1}, {0});
  ExpectThrows(&ws, gradient, "indices [1]");
}

TEST(MultiClassAccuracyTest, CountsEachClass) {
  Workspace ws;
  Feed<float>(&ws, "P", {4, 3}, {1, 2, 0, 3, 1, 0, 0, 1, 2, 0, 5, 1});
  Feed<int32_t>(&ws, "labels", {4}, {1, 0, 1, 1});
  const OperatorDef op = Op("MultiClassAccuracy", {"P", "labels"}, {"A", "N"});
  RunOp(&ws, op);
  ExpectTensor(ws, "A", {3}, {1, 2.f / 3, 0});
  EXPECT_EQ(FetchValues<int32_t>(ws, "N"), (std::vector<int32_t>{1, 3, 0}));
  Feed<int32_t>(&ws, "labels", {4}, {1, 0, 3, 1});
  ExpectThrows(&ws, op, "label 3 of row 2");
}

TEST(APMeterTest, KeepsTheLastPredictions) {
  Workspace ws;
  const OperatorDef op = Op("APMeter", {"P", "labels"}, {"AP"}, {MakeArgument("buffer_size", 3)});
  Feed<float>(&ws, "P", {2, 2}, {0.9f, 0.1f, 0.5f, 0.2f});
  Feed<int32_t>(&ws, "labels", {2, 2}, {0, 1, 1, 0});
  RunOp(&ws, op);
  ExpectTensor(ws, "AP", {2}, {0.5f, 0.5f});
  // Kept across runs: the first prediction of three drops out after two more.
  NetDef net;
  net.set_name("meter");
  *net.add_op() = op;
  NetBase* meter = ws.CreateNet(net);
  ASSERT_TRUE(meter->Run());
  Feed<float>(&ws, "P", {2, 2}, {0.7f, 0.3f, 0.4f, 0.9f});
  Feed<int32_t>(&ws, "labels", {2, 2}, {0, 1, 1, 1});
  ASSERT_TRUE(meter->Run());
  // Column 0: 0.7 no, 0.5 yes, 0.4 yes: (1/2 + 2/3) / 2. Column 1: 0.9, 0.3 yes, 0.2 no.
  ExpectTensor(ws, "AP", {2}, {7.f / 12, 1});
  Feed<int32_t>(&ws, "labels", {1, 2}, {0, 1});
  ExpectThrows(&ws, op, "must both be N x D");
}

}  // namespace
}  // namespace caffe2::testing

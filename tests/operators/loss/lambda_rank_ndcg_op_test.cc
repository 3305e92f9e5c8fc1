#include <cmath>

#include "tests/operators/loss/ranking_test_util.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

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
  ExpectThrows(&ws, Op("LambdaRankNdcg", {"y", "r", "lengths"}, {"loss", "dy"}),
               "the lengths must add up to the 4 entries, but add up to 6");
  Feed<float>(&ws, "r", {4}, {0, NAN, 0, 0});
  if (TestsCuda() && NumDevices(CUDA) > 0) {  // looking for it would wait for the device
    RunOp(&ws, Op("LambdaRankNdcg", {"y", "r"}, {"loss", "dy"}));
    EXPECT_TRUE(std::isnan(FetchValues<float>(ws, "loss")[0]));
  } else {
    ExpectThrows(&ws, Op("LambdaRankNdcg", {"y", "r"}, {"loss", "dy"}), "relevance nan");
  }
}

TEST(LambdaRankNdcgTest, LongLists) {
  Workspace ws;
  const Floats r = FeedLongLists(&ws), y = FetchValues<float>(ws, "y");
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
}

}  // namespace
}  // namespace caffe2::testing

#include <algorithm>
#include <limits>
#include <utility>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

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
  ExpectThrows(
      &ws, op,
      "k of row 1 must be from 1 to the last dimension of X, which has shape [3, 4]; found 0");
  Feed<int64_t>(&ws, "k", {3}, {3, 1, 5});
  ExpectThrows(
      &ws, op,
      "k of row 2 must be from 1 to the last dimension of X, which has shape [3, 4]; found 5");
  Feed<int64_t>(&ws, "k", {2}, {3, 1});
  ExpectThrows(&ws, op, "k must have one element for each row of X");
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

}  // namespace
}  // namespace caffe2::testing

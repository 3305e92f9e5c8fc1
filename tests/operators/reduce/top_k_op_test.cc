#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

std::vector<Argument> TopKArgs(int k, int axis = -1) {
  return {MakeArgument<int>("k", k), MakeArgument<int>("axis", axis)};
}

TEST(TopKTest, SortsAlongTheLastAxis) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 4}, {1, 3, 2, 3, -1, -4, -2, -3});
  RunOp(&ws, Op("TopK", {"X"}, {"V", "I", "F"}, TopKArgs(3)));
  ExpectTensor(ws, "V", {2, 3}, {3, 3, 2, -1, -2, -3});
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 3, 2, 0, 2, 3}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "F"), (std::vector<int64_t>{1, 3, 2, 4, 6, 7}));
}

TEST(TopKTest, SortsAlongAnInnerAxis) {
  Workspace ws;
  Feed<int>(&ws, "X", {1, 3, 2}, {1, 6, 5, 2, 3, 4});
  RunOp(&ws, Op("TopK", {"X"}, {"V", "I", "F"}, TopKArgs(2, 1)));
  EXPECT_EQ(FetchValues<int>(ws, "V"), (std::vector<int>{5, 6, 3, 4}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 0, 2, 2}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "F"), (std::vector<int64_t>{2, 1, 4, 5}));
}

// Where devices sort: against a stable sort of values of which many are equal.
template <typename T>
void ExpectSorted(int64_t n, int k, const std::vector<T>& x) {
  Workspace ws;
  const int64_t outer = 3, inner = 2;
  Feed(&ws, "X", {outer, n, inner}, x);
  RunOp(&ws, Op("TopK", {"X"}, {"V", "I", "F"}, TopKArgs(k, 1)));
  const auto values = FetchValues<T>(ws, "V");
  const auto indices = FetchValues<int64_t>(ws, "I"), flat = FetchValues<int64_t>(ws, "F");
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t first = line / inner * n * inner + line % inner;
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return x[first + a * inner] > x[first + b * inner];
    });
    for (int64_t r = 0; r < k; ++r) {
      const int64_t at = (line / inner * k + r) * inner + line % inner;
      ASSERT_EQ(indices[at], r < n ? order[r] : -1) << "line " << line << ", rank " << r;
      ASSERT_EQ(flat[at], r < n ? first + order[r] * inner : -1);
      ASSERT_EQ(values[at], r < n ? x[first + order[r] * inner] : T(0));
    }
  }
}

TEST(TopKTest, SortsManyOfALine) {
  const auto fractions = [](int64_t n, uint64_t seed) {
    std::vector<float> x = RandomValues(6 * n, seed, -20, 20);
    for (float& value : x) value = std::round(value) / 4;
    return x;
  };
  ExpectSorted(100, 30, fractions(100, 1));
  ExpectSorted(3000, 200, fractions(3000, 2));
  ExpectSorted(3000, 20, fractions(3000, 5));
  ExpectSorted(20, 25, fractions(20, 3));
  std::vector<int32_t> integers;
  for (const float value : RandomValues(6 * 64, 4, -9, 9)) {
    integers.push_back(value > 8    ? std::numeric_limits<int32_t>::max()
                       : value < -8 ? std::numeric_limits<int32_t>::min()
                                    : static_cast<int32_t>(value));
  }
  ExpectSorted(64, 64, integers);
  const std::vector<int64_t> longs(integers.begin(), integers.end());
  ExpectSorted(64, 40, longs);
}

TEST(TopKTest, FillsUpShortAxesAndOrdersNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {1, NAN});
  RunOp(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(3)));
  ExpectTensor(ws, "V", {3}, {NAN, 1, 0});
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 0, -1}));
}

template <typename T>
void ExpectOrderOfEdges(const std::vector<T>& x) {
  Workspace ws;
  Feed(&ws, "X", {10}, x);
  for (const int k : {1, 4, 10}) {
    std::vector<int64_t> order{1, 7, 5, 8, 2, 3, 4, 6, 0, 9};
    order.resize(k);
    RunOp(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(k)));
    EXPECT_EQ(FetchValues<int64_t>(ws, "I"), order);
  }
}

TEST(TopKTest, OrdersZerosAndInfinities) {
  const std::vector<float> x{-INFINITY, NAN, -0.f, 0, -1, INFINITY, -3, NAN, 2, -INFINITY};
  ExpectOrderOfEdges(x);
  ExpectOrderOfEdges(ToBFloat16(x));
  ExpectOrderOfEdges(std::vector<double>(x.begin(), x.end()));
}

TEST(TopKTest, GradientIsNumericOne) {
  Workspace ws;
  std::vector<float> x;  // far apart, so that a step changes no order
  for (int i = 0; i < 24; ++i) x.push_back(static_cast<float>(i * 7 % 24));
  Feed(&ws, "X", {2, 4, 3}, x);
  CheckGradient(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(2)), {0});
  CheckGradient(&ws, Op("TopK", {"X"}, {"V", "I", "F"}, TopKArgs(3, 1)), {0});
  CheckGradient(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(5, 1)), {0});
}

TEST(TopKTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  ExpectThrows(&ws, Op("TopK", {"X"}, {"V", "I"}), "k");
  ExpectThrows(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(0)),
               "argument k must be positive, found 0");
  ExpectThrows(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(1, 2)), "axis 2");
  Feed<float>(&ws, "dV", {2, 1}, {1, 1});
  Feed<int64_t>(&ws, "I", {2, 1}, {0, 3});
  ExpectThrows(&ws, Op("TopKGradient", {"dV", "I", "X"}, {"dX"}, TopKArgs(1)), "index 3");
}

}  // namespace
}  // namespace caffe2::testing

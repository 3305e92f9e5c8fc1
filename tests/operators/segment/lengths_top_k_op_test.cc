#include <algorithm>
#include <limits>
#include <utility>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(LengthsTopKTest, SortsSegments) {
  Workspace ws;
  Feed<float>(&ws, "X", {5}, {3, 1, 2, 5, 5});
  Feed<int32_t>(&ws, "n", {3}, {3, 0, 2});
  const OperatorDef op = Op("LengthsTopK", {"X", "n"}, {"Y", "I"}, {MakeArgument("k", 2)});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2}, {3, 2, 0, 0, 5, 5});
  EXPECT_EQ(FetchValues<int32_t>(ws, "I"), (Ints{0, 2, -1, -1, 0, 1}));
  Feed<float>(&ws, "dY", {6}, {1, 2, 3, 4, 5, 6});
  RunOp(&ws, Op("LengthsTopKGradient", {"n", "I", "dY"}, {"dX"}, {MakeArgument("k", 2)}), true);
  ExpectTensor(ws, "dX", {5}, {1, 0, 2, 5, 6});
  Feed<float>(&ws, "X", {5}, {3, 1, 2, 5, 4});
  CheckGradient(&ws, op, {0});
  ExpectThrows(&ws, Op("LengthsTopK", {"X", "n"}, {"Y", "I"}, {MakeArgument("k", 0)}), "k");
}

TEST(LengthsTopKTest, LongSegmentsAndNaN) {
  Workspace ws;
  constexpr int kTop = 20;
  const std::vector<int64_t> lengths{700, 3, 0, 40};
  std::vector<float> x = RandomValues(743, 1);
  x[5] = x[699] = std::numeric_limits<float>::quiet_NaN();
  x[3] = x[4];
  Feed(&ws, "X", {743}, x);
  Feed(&ws, "n", {4}, lengths);
  RunOp(&ws, Op("LengthsTopK", {"X", "n"}, {"Y", "I"}, {MakeArgument("k", kTop)}));
  std::vector<float> dx(743);
  const auto index = FetchValues<int32_t>(ws, "I");
  const auto value = FetchValues<float>(ws, "Y");
  int64_t begin = 0;
  for (int s = 0; s < 4; ++s) {
    std::vector<std::pair<float, int>> order;  // NaN as infinity, which is not among the values
    for (int j = 0; j < lengths[s]; ++j) {
      const float v = x[begin + j];
      order.emplace_back(v != v ? -std::numeric_limits<float>::infinity() : -v, j);
    }
    std::sort(order.begin(), order.end());
    for (int i = 0; i < kTop; ++i) {
      const bool there = i < lengths[s];
      EXPECT_EQ(index[s * kTop + i], there ? order[i].second : -1) << s << ", " << i;
      const float expected = there ? x[begin + order[i].second] : 0;
      if (expected == expected) {  // no NaN
        EXPECT_EQ(value[s * kTop + i], expected) << s << ", " << i;
      }
      if (there) dx[begin + order[i].second] = static_cast<float>(s * kTop + i + 1);
    }
    begin += lengths[s];
  }
  std::vector<float> dy(4 * kTop);
  for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i + 1);
  Feed(&ws, "dY", {4, kTop}, dy);
  const OperatorDef gradient =
      Op("LengthsTopKGradient", {"n", "I", "dY"}, {"dX"}, {MakeArgument("k", kTop)});
  RunOp(&ws, gradient, true);
  ExpectTensor(ws, "dX", {743}, dx, 0, 0);

  Feed<int32_t>(&ws, "I", {4, kTop}, std::vector<int32_t>(4 * kTop, 3));
  ExpectThrows(&ws, gradient, "index 3 is out of range for segment 1");
  Feed<int64_t>(&ws, "n", {4}, {700, 3, 0, 41});
  const OperatorDef op = Op("LengthsTopK", {"X", "n"}, {"Y", "I"}, {MakeArgument("k", kTop)});
  ExpectThrows(&ws, op, "lengths must add up to the");
  Feed<int64_t>(&ws, "n", {4}, {700, -3, 6, 40});
  ExpectThrows(&ws, op, "length 1 must not be negative");
}

}  // namespace
}  // namespace caffe2::testing

// Sum, Scale, WeightedSum.
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SumOpTest, SumsAnyNumberOfInputs) {
  for (const int64_t n : {int64_t{1}, int64_t{5}, int64_t{100003}}) {
    for (int inputs = 1; inputs <= 4; ++inputs) {
      Workspace ws;
      std::vector<std::string> names;
      std::vector<float> expected(n, 0.f);
      for (int k = 0; k < inputs; ++k) {
        names.push_back("X" + std::to_string(k));
        FeedRandom(&ws, names.back(), {n}, 10 + k);
        const auto values = FetchValues<float>(ws, names.back());
        for (int64_t i = 0; i < n; ++i) expected[i] += values[i];
      }
      RunOp(&ws, Op("Sum", names, {"Y"}));
      ExpectTensor(ws, "Y", {n}, expected);
      RunOp(&ws, Op("Sum", names, {"X0"}));
      ExpectTensor(ws, "X0", {n}, expected);
    }
  }
}

TEST(SumOpTest, OtherTypes) {
  Workspace ws;
  Feed<int64_t>(&ws, "i", {2}, {int64_t{1} << 40, -1});
  RunOp(&ws, Op("Sum", {"i", "i", "i"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{int64_t{3} << 40, -3}));
  // 256 + 1 + 1 in bfloat16: rounding after each addition would lose both.
  Feed<bfloat16>(&ws, "big", {1}, {ToBFloat16(256.f)});
  Feed<bfloat16>(&ws, "one", {1}, {ToBFloat16(1.f)});
  RunOp(&ws, Op("Sum", {"big", "one", "one"}, {"Y"}));
  EXPECT_EQ(ToFloat(FetchValues<bfloat16>(ws, "Y")[0]), 258.f);
}

TEST(SumOpTest, GradientAndErrors) {
  Workspace ws;
  FeedRandom(&ws, "A", {2, 3}, 1);
  FeedRandom(&ws, "B", {2, 3}, 2);
  FeedRandom(&ws, "C", {3, 2}, 3);
  Feed<int32_t>(&ws, "int", {2, 3}, {1, 2, 3, 4, 5, 6});
  CheckGradient(&ws, Op("Sum", {"A", "B"}, {"Y"}), {0, 1});
  ExpectThrows(&ws, Op("Sum", {"A", "C"}, {"Y"}),
               "all inputs must have the same shape: input 0 has shape");
  ExpectThrows(&ws, Op("Sum", {"A", "int"}, {"Y"}), "int");
  ExpectThrows(&ws, Op("Sum", {"A", "B"}, {"B"}), "in place");
}

}  // namespace
}  // namespace caffe2::testing

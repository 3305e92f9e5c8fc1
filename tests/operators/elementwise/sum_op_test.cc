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
  ExpectThrows(&ws, Op("Sum", {"A", "C"}, {"Y"}), "different shapes");
  ExpectThrows(&ws, Op("Sum", {"A", "int"}, {"Y"}), "int");
  ExpectThrows(&ws, Op("Sum", {"A", "B"}, {"B"}), "in place");
}

TEST(ScaleOpTest, ScalesInPlaceToo) {
  Workspace ws;
  Feed<float>(&ws, "X", {3}, {1, -2, 4});
  RunOp(&ws, Op("Scale", {"X"}, {"Y"}, {MakeArgument("scale", 0.5f)}));
  ExpectTensor(ws, "Y", {3}, {0.5f, -1, 2});
  RunOp(&ws, Op("Scale", {"Y"}, {"Y"}, {MakeArgument("scale", 2)}));
  ExpectTensor(ws, "Y", {3}, {1, -2, 4});
  CheckGradient(&ws, Op("Scale", {"X"}, {"Y"}, {MakeArgument("scale", -1.5f)}), {0});
  Feed<bfloat16>(&ws, "X", {1}, {ToBFloat16(3.f)});
  RunOp(&ws, Op("Scale", {"X"}, {"Z"}, {MakeArgument("scale", 0.5f)}));
  EXPECT_EQ(ToFloat(FetchValues<bfloat16>(ws, "Z")[0]), 1.5f);
  Feed<int32_t>(&ws, "X", {1}, {1});
  ExpectThrows(&ws, Op("Scale", {"X"}, {"Z"}), "not supported");
}

TEST(WeightedSumOpTest, Forward) {
  Workspace ws;
  const int64_t n = 70000;
  FeedRandom(&ws, "A", {n}, 1);
  FeedRandom(&ws, "B", {n}, 2);
  Feed<float>(&ws, "wa", {1}, {2});
  Feed<float>(&ws, "wb", {}, {-0.5f});
  std::vector<float> expected(n);
  const auto a = FetchValues<float>(ws, "A"), b = FetchValues<float>(ws, "B");
  for (int64_t i = 0; i < n; ++i) expected[i] = 2 * a[i] - 0.5f * b[i];
  RunOp(&ws, Op("WeightedSum", {"A", "wa", "B", "wb"}, {"Y"}));
  ExpectTensor(ws, "Y", {n}, expected);
  RunOp(&ws, Op("WeightedSum", {"A", "wa", "B", "wb"}, {"A"}));
  ExpectTensor(ws, "A", {n}, expected);
}

TEST(WeightedSumOpTest, GradientOfDataAndWeights) {
  Workspace ws;
  FeedRandom(&ws, "A", {4}, 1);
  FeedRandom(&ws, "B", {4}, 2);
  Feed<float>(&ws, "wa", {1}, {2});
  Feed<float>(&ws, "wb", {1}, {-0.5f});
  const std::vector<std::string> inputs = {"A", "wa", "B", "wb"};
  CheckGradient(&ws, Op("WeightedSum", inputs, {"Y"}), {0, 2});
  CheckGradient(&ws, Op("WeightedSum", inputs, {"Y"}, {MakeArgument("grad_on_w", 1)}),
                {0, 1, 2, 3});
}

TEST(WeightedSumOpTest, RefusesBadInput) {
  Workspace ws;
  FeedRandom(&ws, "A", {4}, 1);
  FeedRandom(&ws, "short", {3}, 2);
  Feed<float>(&ws, "w", {1}, {2});
  ExpectThrows(&ws, Op("WeightedSum", {"A", "w", "short", "w"}, {"Y"}), "different sizes");
  ExpectThrows(&ws, Op("WeightedSum", {"A", "short"}, {"Y"}), "one element");
  ExpectThrows(&ws, Op("WeightedSum", {"A", "w", "A"}, {"Y"}), "does not take 3 inputs");
}

}  // namespace
}  // namespace caffe2::testing

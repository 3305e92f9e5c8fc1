#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

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
  ExpectThrows(&ws, Op("WeightedSum", {"A", "w", "short", "w"}, {"Y"}),
               "all terms must have the same number of elements");
  ExpectThrows(&ws, Op("WeightedSum", {"A", "short"}, {"Y"}), "one element");
  ExpectThrows(&ws, Op("WeightedSum", {"A", "w", "A"}, {"Y"}), "does not take 3 inputs");
}

}  // namespace
}  // namespace caffe2::testing

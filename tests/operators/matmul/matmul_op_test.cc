#include "tests/operators/matmul/matmul_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class TransposedMatMulTest : public TransposedTest {};

TEST_P(TransposedMatMulTest, MatMulMatchesReference) {
  const auto [trans_a, trans_b, scale] = GetParam();
  const int64_t m = 3 * scale, n = 2 * scale, k = 4 * scale;
  Workspace ws;
  FeedRandom(&ws, "A", trans_a ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k}, 1);
  FeedRandom(&ws, "B", trans_b ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n}, 2);
  const OperatorDef op = Op("MatMul", {"A", "B"}, {"Y"}, Transposition(trans_a, trans_b));
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {m, n},
               MatMulReference(m, n, k, Fetch(ws, "A").data<float>(), Fetch(ws, "B").data<float>(),
                               trans_a, trans_b),
               1e-5f, 1e-5f);
  if (scale == 1) CheckGradient(&ws, op, {0, 1});
}

INSTANTIATE_TEST_SUITE_P(All, TransposedMatMulTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool(),
                                            ::testing::Values(1, 16)));

TEST(MatMulTest, SplitsAtAxes) {
  Workspace ws;
  FeedRandom(&ws, "A", {2, 3, 4}, 1);
  FeedRandom(&ws, "B", {2, 2, 5}, 2);
  const OperatorDef op = Op("MatMul", {"A", "B"}, {"Y"},
                            {MakeArgument<int>("axis_a", 2), MakeArgument<int>("axis_b", -1)});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {6, 5},
               MatMulReference(6, 5, 4, Fetch(ws, "A").data<float>(), Fetch(ws, "B").data<float>(),
                               false, false));
  CheckGradient(&ws, op, {0, 1});
}

TEST(MatMulTest, TakesAShape) {
  Workspace ws;
  FeedRandom(&ws, "A", {4, 3}, 1);
  FeedRandom(&ws, "B", {3, 2}, 2);
  FeedRandom(&ws, "like", {2, 2, 2}, 3);
  RunOp(&ws, Op("MatMul", {"A", "B", "like"}, {"Y"}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{2, 2, 2}));
  FeedRandom(&ws, "like", {3, 2}, 3);
  ExpectThrows(&ws, Op("MatMul", {"A", "B", "like"}, {"Y"}), "4 x 2");
}

TEST(MatMulTest, TakesBFloat16) {
  Workspace ws;
  const std::vector<bfloat16> ones(32 * 32, ToBFloat16(1));
  Feed(&ws, "A", {32, 32}, ones);
  RunOp(&ws, Op("MatMul", {"A", "A"}, {"Y"}));
  for (const bfloat16 y : FetchValues<bfloat16>(ws, "Y")) ASSERT_EQ(ToFloat(y), 32);
}

TEST(MatMulTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "A", {4, 3}, 1);
  FeedRandom(&ws, "B", {2, 4}, 2);
  ExpectThrows(&ws, Op("MatMul", {"A", "B"}, {"Y"}), "[2, 4]");
  ExpectThrows(&ws, Op("MatMul", {"A", "B"}, {"Y"}, {MakeArgument<int>("axis_a", 4)}), "axis 4");
  ExpectThrows(&ws, Op("BatchMatMul", {"A", "B"}, {"Y"}), "[2, 4]");
}

}  // namespace
}  // namespace caffe2::testing

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

std::vector<float> Reference(int64_t m, int64_t n, int64_t k, const float* a, const float* b,
                             bool trans_a, bool trans_b) {
  std::vector<float> y;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(trans_a ? a[l * m + i] : a[i * k + l]) *
               (trans_b ? b[j * k + l] : b[l * n + j]);
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

std::vector<Argument> Transposition(bool a, bool b) {
  return {MakeArgument<int>("trans_a", a), MakeArgument<int>("trans_b", b)};
}

class TransposedTest : public ::testing::TestWithParam<std::tuple<bool, bool, int>> {};

TEST_P(TransposedTest, MatMulMatchesReference) {
  const auto [trans_a, trans_b, scale] = GetParam();
  const int64_t m = 3 * scale, n = 2 * scale, k = 4 * scale;
  Workspace ws;
  FeedRandom(&ws, "A", trans_a ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k}, 1);
  FeedRandom(&ws, "B", trans_b ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n}, 2);
  const OperatorDef op = Op("MatMul", {"A", "B"}, {"Y"}, Transposition(trans_a, trans_b));
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {m, n},
               Reference(m, n, k, Fetch(ws, "A").data<float>(), Fetch(ws, "B").data<float>(),
                         trans_a, trans_b),
               1e-5f, 1e-5f);
  if (scale == 1) CheckGradient(&ws, op, {0, 1});
}

TEST_P(TransposedTest, BatchMatMulMatchesReference) {
  const auto [trans_a, trans_b, scale] = GetParam();
  const int64_t m = 3 * scale, n = 2 * scale, k = 4 * scale;
  Workspace ws;
  FeedRandom(&ws, "A",
             trans_a ? std::vector<int64_t>{2, 2, k, m} : std::vector<int64_t>{2, 2, m, k}, 1);
  FeedRandom(&ws, "B",
             trans_b ? std::vector<int64_t>{2, 2, n, k} : std::vector<int64_t>{2, 2, k, n}, 2);
  const OperatorDef op = Op("BatchMatMul", {"A", "B"}, {"Y"}, Transposition(trans_a, trans_b));
  RunOp(&ws, op);
  std::vector<float> expected;
  for (int i = 0; i < 4; ++i) {
    const auto part = Reference(m, n, k, Fetch(ws, "A").data<float>() + i * m * k,
                                Fetch(ws, "B").data<float>() + i * k * n, trans_a, trans_b);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  ExpectTensor(ws, "Y", {2, 2, m, n}, expected, 1e-5f, 1e-5f);
  if (scale == 1) CheckGradient(&ws, op, {0, 1});
}
INSTANTIATE_TEST_SUITE_P(All, TransposedTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool(),
                                            ::testing::Values(1, 16)));

TEST(MatMulTest, SplitsAtAxes) {
  Workspace ws;
  FeedRandom(&ws, "A", {2, 3, 4}, 1);
  FeedRandom(&ws, "B", {2, 2, 5}, 2);
  const OperatorDef op = Op("MatMul", {"A", "B"}, {"Y"},
                            {MakeArgument<int>("axis_a", 2), MakeArgument<int>("axis_b", -1)});
  RunOp(&ws, op);
  ExpectTensor(
      ws, "Y", {6, 5},
      Reference(6, 5, 4, Fetch(ws, "A").data<float>(), Fetch(ws, "B").data<float>(), false, false));
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

TEST(BatchMatMulTest, BroadcastsLikeNumpy) {
  const auto broadcast = MakeArgument<int>("broadcast", 1);
  const struct {
    std::vector<int64_t> a, b, y;
    // Which matrices of A and B the products take.
    std::vector<int64_t> a_index, b_index;
    int64_t m, n;
  } cases[] = {
      {{2, 3, 4}, {4, 5}, {2, 3, 5}, {0, 1}, {0, 0}, 3, 5},
      {{3, 4}, {2, 4, 5}, {2, 3, 5}, {0, 0}, {0, 1}, 3, 5},
      {{2, 1, 3, 4}, {1, 2, 4, 5}, {2, 2, 3, 5}, {0, 0, 1, 1}, {0, 1, 0, 1}, 3, 5},
      {{4}, {2, 4, 5}, {2, 5}, {0, 0}, {0, 1}, 1, 5},
      {{2, 3, 4}, {4}, {2, 3}, {0, 1}, {0, 0}, 3, 1},
      {{4}, {4}, {}, {0}, {0}, 1, 1},
  };
  for (const auto& c : cases) {
    Workspace ws;
    FeedRandom(&ws, "A", c.a, 1);
    FeedRandom(&ws, "B", c.b, 2);
    RunOp(&ws, Op("BatchMatMul", {"A", "B"}, {"Y"}, {broadcast}));
    std::vector<float> expected;
    for (size_t i = 0; i < c.a_index.size(); ++i) {
      const auto part =
          Reference(c.m, c.n, 4, Fetch(ws, "A").data<float>() + c.a_index[i] * c.m * 4,
                    Fetch(ws, "B").data<float>() + c.b_index[i] * c.n * 4, false, false);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    ExpectTensor(ws, "Y", c.y, expected, 1e-5f, 1e-5f);
  }
}

TEST(BatchMatMulTest, RejectsBadShapes) {
  Workspace ws;
  FeedRandom(&ws, "A", {2, 3, 4}, 1);
  FeedRandom(&ws, "B", {3, 4, 5}, 2);
  ExpectThrows(&ws, Op("BatchMatMul", {"A", "B"}, {"Y"}), "leading axes");
  ExpectThrows(&ws, Op("BatchMatMul", {"A", "B"}, {"Y"}, {MakeArgument<int>("broadcast", 1)}),
               "cannot be broadcast");
  FeedRandom(&ws, "v", {4}, 2);
  ExpectThrows(&ws, Op("BatchMatMul", {"A", "v"}, {"Y"}), "at least 2 axes");
}

}  // namespace
}  // namespace caffe2::testing

#include "tests/operators/matmul/matmul_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class TransposedBatchMatMulTest : public TransposedTest {};

TEST_P(TransposedBatchMatMulTest, BatchMatMulMatchesReference) {
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
    const auto part = MatMulReference(m, n, k, Fetch(ws, "A").data<float>() + i * m * k,
                                      Fetch(ws, "B").data<float>() + i * k * n, trans_a, trans_b);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  ExpectTensor(ws, "Y", {2, 2, m, n}, expected, 1e-5f, 1e-5f);
  if (scale == 1) CheckGradient(&ws, op, {0, 1});
}
INSTANTIATE_TEST_SUITE_P(All, TransposedBatchMatMulTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool(),
                                            ::testing::Values(1, 16)));

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
          MatMulReference(c.m, c.n, 4, Fetch(ws, "A").data<float>() + c.a_index[i] * c.m * 4,
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

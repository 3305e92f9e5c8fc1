// Operators that look up, count and index.
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(GatherOpTest, ReadsRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<int32_t>(&ws, "i", {2, 2}, {2, 0, 0, 1});
  RunOp(&ws, Op("Gather", {"X", "i"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2, 2}, {5, 6, 1, 2, 1, 2, 3, 4});
  Feed<int64_t>(&ws, "i", {1}, {1});
  RunOp(&ws, Op("Gather", {"X", "i"}, {"Y"}, {MakeArgument("axis", 1)}));
  ExpectTensor(ws, "Y", {3, 1}, {2, 4, 6});
  RunOp(&ws, Op("BatchGather", {"X", "i"}, {"Y"}));
  ExpectTensor(ws, "Y", {3, 1}, {2, 4, 6});
  Feed<std::string>(&ws, "text", {2}, {"a", "b"});
  RunOp(&ws, Op("Gather", {"text", "i"}, {"Y"}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), std::vector<std::string>{"b"});
}

// Single elements of each size, more than one thread takes.
template <typename T>
void CheckElements() {
  std::vector<T> x(300), expected;
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 91 % 127);
  std::vector<int32_t> indices;
  for (int i = 0; i < 40000; ++i) {
    indices.push_back(i * 7919 % 300);
    expected.push_back(x[indices.back()]);
  }
  Workspace ws;
  Feed(&ws, "X", {300}, x);
  Feed(&ws, "i", {40000}, indices);
  RunOp(&ws, Op("Gather", {"X", "i"}, {"Y"}));
  EXPECT_EQ(FetchValues<T>(ws, "Y"), expected);
}
TEST(GatherOpTest, SingleElements) {
  CheckElements<uint8_t>();
  CheckElements<uint16_t>();
  CheckElements<int32_t>();
  CheckElements<int64_t>();
}

TEST(GatherOpTest, Gradients) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2, 2}, 1);
  Feed<int32_t>(&ws, "i", {4}, {1, 0, 1, 1});
  CheckGradient(&ws, Op("Gather", {"X", "i"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Gather", {"X", "i"}, {"Y"}, {MakeArgument("dense_gradient", 1)}), {0});
  CheckGradient(&ws, Op("Gather", {"X", "i"}, {"Y"}, {MakeArgument("axis", 2)}), {0});
  CheckGradient(&ws, Op("BatchGather", {"X", "i"}, {"Y"}), {0});
  // Each element of the batch with indices of its own.
  const auto outer = MakeArgument("match_outer", 1);
  Feed<int32_t>(&ws, "own", {3, 3}, {0, 1, 1, 1, 1, 0, 0, 0, 0});
  RunOp(&ws, Op("BatchGather", {"X", "own"}, {"Y"}, {outer}));
  const auto x = FetchValues<float>(ws, "X");
  std::vector<float> expected;
  for (int b = 0; b < 3; ++b) {
    for (int i = 0; i < 3; ++i) {
      const int row = FetchValues<int32_t>(ws, "own")[b * 3 + i];
      for (int j = 0; j < 2; ++j) expected.push_back(x[(b * 2 + row) * 2 + j]);
    }
  }
  ExpectTensor(ws, "Y", {3, 3, 2}, expected);
  CheckGradient(&ws, Op("BatchGather", {"X", "own"}, {"Y"}, {outer}), {0});
  CheckGradient(&ws, Op("Gather", {"X", "own"}, {"Y"}, {outer, MakeArgument("axis", 1)}), {0});
  ExpectThrows(&ws, Op("BatchGather", {"X", "i"}, {"Y"}, {outer}),
               "must be the same as in the data");
  GradientWrapper dense;
  dense.dense = "dY";
  const GradientOpsMeta meta = GetGradientForOp(Op("Gather", {"X", "i"}, {"Y"}), {dense});
  EXPECT_TRUE(meta.ops.empty());
  EXPECT_EQ(meta.g_input[0].indices, "i");
  EXPECT_EQ(meta.g_input[0].values, "dY");
}

TEST(GatherOpTest, ChecksIndices) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2}, 1);
  for (const int64_t bad : {3, -1}) {
    Feed<int64_t>(&ws, "i", {2}, {0, bad});
    ExpectThrows(&ws, Op("Gather", {"X", "i"}, {"Y"}), "at position 1 is out of range for 3 rows");
    ExpectThrows(&ws, Op("BatchGather", {"X", "i"}, {"Y"}), "out of range for 2 rows");
  }
  FeedRandom(&ws, "float", {1}, 1);
  ExpectThrows(&ws, Op("Gather", {"X", "float"}, {"Y"}),
               "indices must be int32 or int64, not float");
  Feed<int64_t>(&ws, "i", {1}, {0});
  ExpectThrows(&ws, Op("Gather", {"X", "i"}, {"Y"}, {MakeArgument("axis", 2)}), "out of range");
}

}  // namespace
}  // namespace caffe2::testing

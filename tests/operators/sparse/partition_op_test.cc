#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(PartitionTest, SplitsAndJoins) {
  Workspace ws;
  Feed<int32_t>(&ws, "k", {5}, {0, 3, 2, 5, -1});
  FeedRandom(&ws, "x", {5, 2}, 1);
  const auto x = FetchValues<float>(ws, "x");
  RunOp(&ws, Op("Partition", {"k", "x"}, {"k0", "x0", "k1", "x1"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "k0"), (Ints{0, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k1"), (Ints{3, 5, -1}));
  ExpectTensor(ws, "x0", {2, 2}, {x[0], x[1], x[4], x[5]}, 0, 0);
  ExpectTensor(ws, "x1", {3, 2}, {x[2], x[3], x[6], x[7], x[8], x[9]}, 0, 0);
  RunOp(&ws, Op("GatherByKey", {"k", "x0", "x1"}, {"y"}));
  ExpectTensor(ws, "y", {5, 2}, x, 0, 0);
  RunOp(&ws, Op("Partition", {"k"}, {"k0", "k1"}, {MakeArgument("pack_first_input", 1)}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "k0"), (Ints{0, 1}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k1"), (Ints{1, 2, -1}));
  Feed<int32_t>(&ws, "n", {3}, {2, 0, 3});
  RunOp(&ws, Op("LengthsPartition", {"n", "k"}, {"n0", "k0", "n1", "k1"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "n0"), (Ints{1, 0, 1}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "n1"), (Ints{1, 0, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k0"), (Ints{0, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k1"), (Ints{3, 5, -1}));
  ExpectThrows(&ws, Op("Partition", {"k", "x"}, {"a", "b", "c"}), "3 outputs and 2 inputs");
  ExpectThrows(&ws, Op("Partition", {"k", "n"}, {"a", "b"}),
               "have the keys' shape as its first axes");
  ExpectThrows(&ws, Op("GatherByKey", {"k", "x0", "x0"}, {"y"}), "rows of part 1");
}

}  // namespace
}  // namespace caffe2::testing

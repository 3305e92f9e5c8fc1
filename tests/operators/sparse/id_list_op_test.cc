#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(IdListTest, MergesSplitsAndHashes) {
  Workspace ws;
  Feed<int32_t>(&ws, "l0", {3}, {3, 0, 4});
  Feed<int64_t>(&ws, "v0", {7}, {1, 5, 6, 2, 4, 5, 6});
  Feed<int32_t>(&ws, "l1", {3}, {3, 2, 1});
  Feed<int64_t>(&ws, "v1", {6}, {5, 8, 9, 14, 9, 5});
  const OperatorDef merge = Op("MergeIdLists", {"l0", "v0", "l1", "v1"}, {"l", "v"});
  RunOp(&ws, merge, true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "l"), (Ints{5, 2, 4}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "v"), (Longs{1, 5, 6, 8, 9, 9, 14, 2, 4, 5, 6}));
  Feed<int32_t>(&ws, "l1", {2}, {3, 3});
  ExpectThrows(&ws, merge, "all inputs must have the same number of lengths: input 2 has 2");

  Feed<float>(&ws, "dense", {3, 4}, {0, 2, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0});
  const OperatorDef to_lists = Op("DenseVectorToIdList", {"dense"}, {"l", "v"});
  RunOp(&ws, to_lists, true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "l"), (Ints{2, 0, 1}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "v"), (Ints{1, 3, 0}));
  Feed<float>(&ws, "dense", {3}, {0, 2, 0});
  ExpectThrows(&ws, to_lists, "values must be a matrix");

  Feed<int64_t>(&ws, "keys", {5}, {2, 0, 2, 0, 0});
  const auto limit = MakeArgument("categorical_limit", 3);
  RunOp(&ws, Op("KeySplit", {"keys"}, {"k0", "k1", "k2"}, {limit}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "k0"), (Ints{1, 3, 4}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k1"), Ints{});
  EXPECT_EQ(FetchValues<int32_t>(ws, "k2"), (Ints{0, 2}));
  Feed<int64_t>(&ws, "keys", {5}, {1, 0, 2, 1, 1});
  RunOp(&ws, Op("KeySplit", {"keys"}, {"k0", "k1", "k2"}, {limit}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "k0"), (Ints{1}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k1"), (Ints{0, 3, 4}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k2"), (Ints{2}));
  ExpectThrows(&ws, Op("KeySplit", {"keys"}, {"k0", "k1"}, {limit}), "categorical_limit");

  // hash = 65537 * hash + byte, from the lowest byte, in the type of the ids.
  Feed<int32_t>(&ws, "ids", {2}, {1, -1});
  RunOp(&ws, Op("IndexHash", {"ids"}, {"h"}, {MakeArgument("modulo", 1000)}));
  uint32_t one = 1, minus = static_cast<uint32_t>(-1);
  for (int i = 1; i < 4; ++i) {
    one *= 65537u;
    minus = minus * 65537u - 1;
  }
  const auto modulo = [](uint32_t hash) {
    const int64_t rest = static_cast<int32_t>(hash) % 1000;
    return static_cast<int32_t>(rest < 0 ? rest + 1000 : rest);
  };
  EXPECT_EQ(FetchValues<int32_t>(ws, "h"), (Ints{modulo(one), modulo(minus)}));
  Feed<int64_t>(&ws, "wide", {1}, {1});
  RunOp(&ws, Op("IndexHash", {"wide"}, {"wide"},
                {MakeArgument<int64_t>("modulo", INT64_MAX), MakeArgument("seed", 7)}));
  uint64_t hash = 7 * uint64_t{0xDEADBEEF} * 65537 + 1;
  for (int i = 1; i < 8; ++i) hash *= 65537;
  const auto signed_hash = static_cast<int64_t>(hash);
  EXPECT_EQ(FetchValues<int64_t>(ws, "wide")[0],
            signed_hash < 0 ? signed_hash + INT64_MAX : signed_hash % INT64_MAX);
  ExpectThrows(&ws, Op("IndexHash", {"ids"}, {"h"}, {MakeArgument<int64_t>("modulo", 1LL << 40)}),
               "modulo");
  ExpectThrows(&ws, Op("IndexHash", {"ids"}, {"h"}, {MakeArgument("modulo", 0)}), "modulo");
}

}  // namespace
}  // namespace caffe2::testing

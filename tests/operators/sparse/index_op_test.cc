#include "tests/operators/dataset/dataset_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(IndexTest, NumbersKeys) {
  Workspace ws;
  RunOp(&ws, Op("StringIndexCreate", {}, {"i"}, {MakeArgument("max_elements", 5)}), true);
  Feed<std::string>(&ws, "k", {2, 2}, {"b", "a", "b", "c"});
  RunOp(&ws, Op("IndexGet", {"i", "k"}, {"n"}), true);
  EXPECT_EQ(Fetch(ws, "n").sizes(), (Longs{2, 2}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "n"), (Longs{1, 2, 1, 3}));
  RunOp(&ws, Op("IndexSize", {"i"}, {"size"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "size"), Longs{4});
  RunOp(&ws, Op("IndexStore", {"i"}, {"items"}), true);
  EXPECT_EQ(FetchValues<std::string>(ws, "items"), (Strings{"b", "a", "c"}));
  Feed<std::string>(&ws, "k", {2}, {"d", "e"});
  ExpectThrows(&ws, Op("IndexGet", {"i", "k"}, {"n"}), "full at key e");
  RunOp(&ws, Op("IndexFreeze", {"i"}, {"i"}), true);
  CopySerialized(&ws, "i", "j");
  Feed<std::string>(&ws, "k", {3}, {"d", "z", "a"});
  RunOp(&ws, Op("IndexGet", {"j", "k"}, {"n"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "n"), (Longs{4, 0, 2}));

  RunOp(&ws, Op("LongIndexCreate", {}, {"i"}), true);
  Feed<int64_t>(&ws, "items", {3}, {0, 7, 9});
  RunOp(&ws, Op("IndexLoad", {"i", "items"}, {"i"}, {MakeArgument("skip_first_entry", 1)}), true);
  Feed<int64_t>(&ws, "k", {3}, {9, 7, 8});
  RunOp(&ws, Op("IndexGet", {"i", "k"}, {"n"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "n"), (Longs{2, 1, 3}));
  Feed<int64_t>(&ws, "items", {2}, {7, 7});
  ExpectThrows(&ws, Op("IndexLoad", {"i", "items"}, {"i"}), "key 7 occurs twice");
  RunOp(&ws, Op("IntIndexCreate", {}, {"i"}), true);
  ExpectThrows(&ws, Op("IndexGet", {"i", "k"}, {"n"}),
               "an index of int keys was given keys of int64_t");
}

}  // namespace
}  // namespace caffe2::testing

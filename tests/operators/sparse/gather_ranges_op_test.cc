#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(GatherRangesTest, TakesParts) {
  Workspace ws;
  Feed<int32_t>(&ws, "X", {6}, {1, 2, 3, 4, 5, 6});
  Feed<int32_t>(&ws, "R", {2, 2, 2}, {0, 1, 2, 2, 4, 1, 1, 0});
  // What is inferred is the case of ranges that cover all.
  Feed<int32_t>(&ws, "all", {2, 1, 2}, {4, 2, 0, 4});
  RunOp(&ws, Op("GatherRanges", {"X", "all"}, {"Y", "n"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{5, 6, 1, 2, 3, 4}));
  ASSERT_TRUE(ws.RunOperatorOnce(Op("GatherRanges", {"X", "R"}, {"Y", "n"})));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{1, 3, 4, 5}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "n"), (Ints{3, 1}));
  const auto lengths = MakeArgument("lengths", std::vector<int>{1, 2});
  RunOp(&ws, Op("GatherRangesToDense", {"X", "R"}, {"A", "B"}, {lengths}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "A"), (Ints{1, 5}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "B"), (Ints{3, 4, 0, 0}));
  Feed<int64_t>(&ws, "K", {6}, {0, 0, 9, 8, 0, 0});
  RunOp(&ws, Op("GatherRangesToDense", {"X", "R", "K"}, {"A", "B"}, {lengths}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "B"), (Ints{4, 3, 0, 0}));
  // Range 1 has other lengths in half of the examples, and none in the other half.
  const auto gather = [](float mismatched, float empty, int min) {
    return Op("GatherRangesToDense", {"X", "R"}, {"A", "B"},
              {MakeArgument("lengths", std::vector<int>{1, 3}),
               MakeArgument("max_mismatched_ratio", mismatched),
               MakeArgument("max_empty_ratio", empty), MakeArgument("min_observation", min)});
  };
  RunOp(&ws, gather(0.5f, 0.5f, 2));
  EXPECT_EQ(FetchValues<int32_t>(ws, "B"), (Ints{0, 0, 0, 0, 0, 0}));
  RunOp(&ws, gather(0.1f, 1, 10));
  ExpectThrows(&ws, gather(0.4f, 1, 2), "range 1 had elements other");
  ExpectThrows(&ws, gather(1, 0.4f, 2), "range 1 had no elements in 1 of 2 examples");
  // What counts is all the operator has seen.
  const auto often = CreateOperator(gather(0.25f, 1, 4), &ws);
  EXPECT_TRUE(often->Run());
  EXPECT_THROW(often->Run(), EnforceNotMet);
  Feed<int32_t>(&ws, "R", {1, 1, 2}, {5, 2});
  ExpectThrows(&ws, Op("GatherRanges", {"X", "R"}, {"Y", "n"}),
               "a range must lie in the 6 elements of DATA: offset 5, length 2");
}

}  // namespace
}  // namespace caffe2::testing

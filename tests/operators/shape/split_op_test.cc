#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SplitOpTest, Splits) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto axis = MakeArgument("axis", 1);
  RunOp(&ws, Op("Split", {"X"}, {"A", "B"}, {axis}));
  ExpectTensor(ws, "A", {2, 2}, {1, 2, 5, 6});
  ExpectTensor(ws, "B", {2, 2}, {3, 4, 7, 8});
  RunOp(&ws, Op("DepthSplit", {"X"}, {"A", "B"}, {MakeArgument("split", std::vector<int>{1, 3})}));
  ExpectTensor(ws, "A", {2, 1}, {1, 5});
  ExpectTensor(ws, "B", {2, 3}, {2, 3, 4, 6, 7, 8});
  Feed<int32_t>(&ws, "lengths", {3}, {0, 3, 1});
  RunOp(&ws, Op("Split", {"X", "lengths"}, {"A", "B", "C"}, {MakeArgument("axis", -1)}), true);
  ExpectTensor(ws, "A", {2, 0}, {});
  ExpectTensor(ws, "C", {2, 1}, {4, 8});
  RunOp(&ws,
        Op("Split", {"X"}, {"A", "B"}, {MakeArgument("axis", 0), MakeArgument("add_axis", 1)}));
  ExpectTensor(ws, "B", {4}, {5, 6, 7, 8});
}

TEST(SplitOpTest, GradientsOfConcatAndSplit) {
  Workspace ws;
  FeedRandom(&ws, "A", {2, 1, 2}, 1);
  FeedRandom(&ws, "B", {2, 2, 2}, 2);
  for (const char* type : {"Concat", "DepthConcat"}) {
    CheckGradient(&ws, Op(type, {"A", "B"}, {"Y", "info"}), {0, 1});
  }
  FeedRandom(&ws, "C", {2, 1, 2}, 3);
  CheckGradient(&ws,
                Op("Concat", {"A", "C"}, {"Y", "info"},
                   {MakeArgument("axis", 0), MakeArgument("add_axis", 1)}),
                {0, 1});
  GradientOptions both;
  both.outputs_with_gradient = {0, 1};
  FeedRandom(&ws, "X", {2, 4}, 3);
  for (const char* type : {"Split", "DepthSplit"}) {
    CheckGradient(&ws, Op(type, {"X"}, {"P", "Q"}, {MakeArgument("split", std::vector<int>{1, 3})}),
                  {0}, both);
  }
  CheckGradient(
      &ws, Op("Split", {"B"}, {"P", "Q"}, {MakeArgument("axis", 1), MakeArgument("add_axis", 1)}),
      {0}, both);
  GradientWrapper dense;
  dense.dense = "dP";
  EXPECT_THROW(GetGradientForOp(Op("Split", {"X"}, {"P", "Q"}), {dense, {}}), EnforceNotMet);
}

TEST(SplitByLengthsTest, DealsLengthsToOutputs) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 6}, 1);
  const auto x = FetchValues<float>(ws, "X");
  Feed<int32_t>(&ws, "n", {4}, {1, 1, 0, 4});
  const auto axis = MakeArgument("axis", 1);
  const OperatorDef op = Op("SplitByLengths", {"X", "n"}, {"A", "B"}, {axis});
  RunOp(&ws, op, true);
  ExpectTensor(ws, "A", {2, 2}, {x[0], x[1], x[6], x[7]});
  ExpectTensor(ws, "B", {2, 4}, {x[2], x[3], x[4], x[5], x[8], x[9], x[10], x[11]});
  CheckGradient(&ws, op, {0}, {.outputs_with_gradient = {0, 1}});
  Feed<int64_t>(&ws, "n", {2}, {1, 2});
  const OperatorDef scaled =
      Op("SplitByLengths", {"X", "n"}, {"A", "B"}, {axis, MakeArgument("use_scaling_lengths", 1)});
  RunOp(&ws, scaled, true);
  EXPECT_EQ(Fetch(ws, "A").sizes(), (Longs{2, 2}));
  EXPECT_EQ(Fetch(ws, "B").sizes(), (Longs{2, 4}));
  CheckGradient(&ws, scaled, {0}, {.outputs_with_gradient = {0, 1}});
  ExpectThrows(&ws, op, "add up");
  Feed<int32_t>(&ws, "n", {2}, {1, 3});
  ExpectThrows(&ws, scaled,
               "the dimension to split must be a multiple of the sum of the lengths (4), found 6");
  Feed<int32_t>(&ws, "n", {3}, {1, 2, 3});
  ExpectThrows(&ws, op, "the number of lengths must be a multiple of the 2 outputs, found 3");
}

}  // namespace
}  // namespace caffe2::testing

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SparseToDenseMaskTest, PicksColumns) {
  Workspace ws;
  Feed<int32_t>(&ws, "i", {5}, {7, 2, 9, 2, 2});
  FeedRandom(&ws, "v", {5, 2}, 1);
  Feed<float>(&ws, "d", {2}, {-1, -2});
  Feed<int32_t>(&ws, "n", {3}, {2, 0, 3});
  const auto v = FetchValues<float>(ws, "v");
  const auto mask = MakeArgument("mask", std::vector<int>{2, 7});
  const OperatorDef op = Op("SparseToDenseMask", {"i", "v", "d", "n"}, {"Y", "P"},
                            {mask, MakeArgument("return_presence_mask", 1)});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2, 2}, {v[2], v[3], v[0], v[1], -1, -2, -1, -2, v[8], v[9], -1, -2});
  EXPECT_EQ(FetchValues<bool>(ws, "P"), (std::vector<bool>{1, 1, 0, 0, 1, 0}));
  CheckGradient(&ws, op, {1});
  const OperatorDef one = Op("SparseToDenseMask", {"i", "v", "d"}, {"Y"}, {mask});
  RunOp(&ws, one);
  ExpectTensor(ws, "Y", {2, 2}, {v[8], v[9], v[0], v[1]});
  CheckGradient(&ws, one, {1});
  ExpectThrows(&ws, Op("SparseToDenseMask", {"i", "v", "d"}, {"Y"}), "argument mask");
  ExpectThrows(&ws,
               Op("SparseToDenseMask", {"i", "v", "d"}, {"Y"},
                  {mask, MakeArgument("return_presence_mask", 1)}),
               "argument return_presence_mask needs a second output");
  ExpectThrows(&ws,
               Op("SparseToDenseMask", {"i", "v", "d"}, {"Y"},
                  {MakeArgument("mask", std::vector<int>{2, 2})}),
               "occurs twice");
  Feed<int32_t>(&ws, "i", {5}, {-1, -1, 2, 2, 2});
  ExpectThrows(&ws,
               Op("SparseToDenseMask", {"i", "v", "d"}, {"Y"},
                  {mask, MakeArgument("max_skipped_indices", 1)}),
               "too many samples with negative");
  Feed<float>(&ws, "d", {1}, {0});
  ExpectThrows(&ws, one, "the default value must be one row of the type of values");
}

TEST(SparseToDenseMaskTest, SamplesWithNegativeIdsAreCountedOnceAndOverAllRuns) {
  Workspace ws;
  Feed<int64_t>(&ws, "i", {5}, {-1, -2, 7, -1, 2});  // two bad samples of three
  Feed<int64_t>(&ws, "n", {3}, {3, 1, 1});
  Feed<float>(&ws, "v", {5}, {1, 2, 3, 4, 5});
  Feed<float>(&ws, "d", {1}, {0});
  const auto op = CreateOperator(Op("SparseToDenseMask", {"i", "v", "d", "n"}, {"Y"},
                                    {MakeArgument("mask", std::vector<int>{2, 7})}),
                                 &ws);
  for (int run = 0; run < 24; ++run) ASSERT_TRUE(op->Run());
  ExpectTensor(ws, "Y", {3, 2}, {0, 3, 0, 0, 5, 0});
  EXPECT_THROW(op->Run(), EnforceNotMet);  // the 50th bad sample, as in Caffe2
}

TEST(SparseToDenseMaskTest, AnyTypeOfValues) {
  Workspace ws;
  Feed<int64_t>(&ws, "i", {4}, {7, -3, 2, 7});
  Feed<int64_t>(&ws, "n", {2}, {3, 1});
  const auto mask = MakeArgument("mask", std::vector<int>{2, 7, 5});
  const OperatorDef op = Op("SparseToDenseMask", {"i", "v", "d", "n"}, {"Y"}, {mask});
  Feed<int64_t>(&ws, "v", {4}, {1, 2, 3, int64_t{1} << 40});
  Feed<int64_t>(&ws, "d", {1}, {-1});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"),
            (std::vector<int64_t>{3, 1, -1, -1, int64_t{1} << 40, -1}));
  Feed<uint8_t>(&ws, "v", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Feed<uint8_t>(&ws, "d", {2}, {9, 8});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Y"),
            (std::vector<uint8_t>{5, 6, 1, 2, 9, 8, 9, 8, 7, 8, 9, 8}));
  Feed<std::string>(&ws, "v", {4}, {"a", "b", "c", "d"});
  Feed<std::string>(&ws, "d", {1}, {"-"});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"),
            (std::vector<std::string>{"c", "a", "-", "-", "d", "-"}));
  const OperatorDef gradient = Op("SparseToDenseMaskGradient", {"i", "dY", "n"}, {"dv"}, {mask});
  Feed<float>(&ws, "dY", {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  RunOp(&ws, gradient);
  ExpectTensor(ws, "dv", {4, 1}, {2, 0, 1, 5}, 0, 0);
  Feed<double>(&ws, "dY", {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  ExpectThrows(&ws, gradient, "float");
  Feed<float>(&ws, "dY", {3, 2, 1}, {1, 2, 3, 4, 5, 6});
  ExpectThrows(&ws, gradient, "dY must have 2 samples of 3 columns, found shape [3, 2, 1]");
  Feed<int64_t>(&ws, "n", {2}, {3, 2});
  ExpectThrows(&ws, gradient, "lengths must add up to the");
}

}  // namespace
}  // namespace caffe2::testing

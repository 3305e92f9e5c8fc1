#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SparseToDenseOpTest, SumsRows) {
  Workspace ws;
  Feed<int32_t>(&ws, "i", {3}, {2, 0, 2});
  Feed<float>(&ws, "V", {3, 2}, {1, 2, 3, 4, 5, 6});
  FeedRandom(&ws, "like", {4, 7}, 1);
  RunOp(&ws, Op("SparseToDense", {"i", "V"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {3, 2}, {3, 4, 0, 0, 6, 8});
  RunOp(&ws, Op("SparseToDense", {"i", "V", "like"}, {"Y"}));
  ExpectTensor(ws, "Y", {4, 2}, {3, 4, 0, 0, 6, 8, 0, 0});
  const OperatorDef op =
      Op("SparseToDense", {"i", "V"}, {"Y"}, {MakeArgument("output_first_dim", 3)});
  CheckGradient(&ws, op, {1});
  ExpectThrows(&ws, Op("SparseToDense", {"i", "V"}, {"Y"}, {MakeArgument("output_first_dim", 2)}),
               "out of range");
  ExpectThrows(&ws, Op("SparseToDense", {"i", "like"}, {"Y"}), "one row");
  Feed<int32_t>(&ws, "i", {3}, {2, 0, -2});
  ExpectThrows(&ws, Op("SparseToDense", {"i", "V"}, {"Y"}), "out of range");
}

TEST(EnsureDenseOpTest, MakesTheGradientDense) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2}, 1);
  RunOp(&ws, Op("EnsureDense", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {3, 2}, FetchValues<float>(ws, "X"));
  CheckGradient(&ws, Op("EnsureDense", {"X"}, {"Y"}), {0});
  GradientWrapper sparse;
  sparse.indices = "i";
  sparse.values = "v";
  Feed<int64_t>(&ws, "i", {1}, {1});
  Feed<float>(&ws, "v", {1, 2}, {5, 6});
  const GradientOpsMeta meta = GetGradientForOp(Op("EnsureDense", {"X"}, {"Y"}), {sparse});
  ASSERT_EQ(meta.ops.size(), 1u);
  RunOp(&ws, meta.ops[0]);
  ExpectTensor(ws, meta.g_input[0].dense, {3, 2}, {0, 0, 5, 6, 0, 0});
}

}  // namespace
}  // namespace caffe2::testing

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(StopGradientOpTest, InPlaceAndGradients) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {1, 2});
  Feed<float>(&ws, "dY", {2}, {3, -4});
  RunOp(&ws, Op("StopGradient", {"X"}, {"X"}));
  ExpectTensor(ws, "X", {2}, {1, 2});
  GradientWrapper dense;
  dense.dense = "dY";
  EXPECT_TRUE(GetGradientForOp(Op("StopGradient", {"X"}, {"Y"}), {dense}).g_input[0].IsEmpty());

  const GradientOpsMeta negated = GetGradientForOp(Op("NegateGradient", {"X"}, {"Y"}), {dense});
  ASSERT_EQ(negated.ops.size(), 1u);
  EXPECT_EQ(negated.ops[0].type(), "Negative");
  EXPECT_EQ(negated.g_input[0].dense, negated.ops[0].output(0));

  RunOp(&ws, Op("ZeroGradient", {"X"}, {}));
  const GradientOpsMeta zero = GetGradientForOp(Op("ZeroGradient", {"X"}, {}), {});
  ASSERT_EQ(zero.ops.size(), 1u);
  RunOp(&ws, zero.ops[0]);
  ExpectTensor(ws, zero.g_input[0].dense, {2}, {0, 0});
}

}  // namespace
}  // namespace caffe2::testing

#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(HalfFloatOpTest, RoundTrip) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {1.f, 1.0005f, 65520.f, 5.96e-8f});
  RunOp(&ws, Op("FloatToHalf", {"X"}, {"H"}));
  RunOp(&ws, Op("HalfToFloat", {"H"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {1.f, 1.0009765625f, INFINITY, 0x1p-24f}, 0, 0);
  ExpectThrows(&ws, Op("FloatToHalf", {"H"}, {"Y"}), "not supported");
  // The gradient goes through float16; these weights are powers of two and survive.
  GradientWrapper dense;
  dense.dense = "dH";
  const GradientOpsMeta meta = GetGradientForOp(Op("FloatToHalf", {"X"}, {"H"}), {dense});
  ASSERT_EQ(meta.ops.size(), 1u);
  EXPECT_EQ(meta.ops[0].type(), "HalfToFloat");
  EXPECT_EQ(GetGradientForOp(Op("HalfToFloat", {"H"}, {"Y"}), {dense}).ops[0].type(),
            "FloatToHalf");
}

}  // namespace
}  // namespace caffe2::testing

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(PowOpTest, ScalarAndTensorExponents) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  const auto exponent = [](float value) { return MakeArgument("exponent", value); };
  RunOp(&ws, Op("Pow", {"X"}, {"Y"}, {exponent(2)}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 4, 9, 16});
  RunOp(&ws, Op("Pow", {"X"}, {"Y"}, {exponent(-0.5f)}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 0.70710678f, 0.57735027f, 0.5f});
  Feed<float>(&ws, "E", {2}, {3, 0});
  RunOp(&ws, Op("Pow", {"X", "E"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 1, 27, 1});
  RunOp(&ws, Op("Pow", {"X", "E"}, {"Y"}, {MakeArgument("broadcast", 1), MakeArgument("axis", 0)}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 8, 1, 1});
  ExpectThrows(&ws, Op("Pow", {"X"}, {"Y"}), "neither");
}

TEST(PowOpTest, Gradients) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1, 0.5f, 2.f);
  FeedRandom(&ws, "E", {3}, 2, 0.5f, 2.f);
  CheckGradient(&ws, Op("Pow", {"X"}, {"Y"}, {MakeArgument("exponent", 2.5f)}), {0});
  CheckGradient(&ws, Op("Pow", {"X"}, {"Y"}, {MakeArgument("exponent", 2.f)}), {0});
  CheckGradient(&ws, Op("Pow", {"X", "E"}, {"Y"}), {0, 1});
  CheckGradient(&ws, Op("Pow", {"X", "E"}, {"Y"}, {MakeArgument("broadcast", 1)}), {0, 1});
}

// The gradient of the input comes from the output, as in Caffe2.
TEST(PowOpTest, GradientInPlace) {
  Workspace ws;
  const OperatorDef pow = Op("Pow", {"X"}, {"X"}, {MakeArgument("exponent", 3.f)});
  Feed<float>(&ws, "X", {3}, {0.5f, 1, 2});
  Feed<float>(&ws, "dY", {3}, {1, -1, 10});
  GradientWrapper gradient;
  gradient.dense = "dY";
  RunOp(&ws, pow);
  for (const OperatorDef& def : GetGradientForOp(pow, {gradient}).ops) RunOp(&ws, def);
  ExpectTensor(ws, "X_grad", {3}, {0.75f, -3, 120}, 1e-5f);
  const auto gradient_of = [&](const OperatorDef& def) {
    return GetGradientForOp(def, {gradient});
  };
  EXPECT_THROW(gradient_of(Op("Pow", {"X"}, {"X"}, {MakeArgument("exponent", 0.f)})),
               EnforceNotMet);
  EXPECT_THROW(gradient_of(Op("Pow", {"X", "E"}, {"X"})), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing

#include <cmath>
#include <limits>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(PiecewiseLinearTransformTest, IsConstantOutsideOfItsBounds) {
  Workspace ws;
  // Column 0: 2x on [0, 1], then 3 - x up to 2. Column 1: -x on [1, 2], then x up to 4.
  const Floats bounds{0, 1, 2, 1, 2, 4}, slopes{2, -1, -1, 1}, intercepts{0, 3, 0, 0};
  const std::vector<Argument> args{MakeArgument("bounds", bounds), MakeArgument("slopes", slopes),
                                   MakeArgument("intercepts", intercepts)};
  Feed<float>(&ws, "X", {3, 2}, {-1, 0, 0.5f, 1.5f, 9, 3});
  const Floats expected{0, -1, 1, -1.5f, 1, 3};
  RunOp(&ws, Op("PiecewiseLinearTransform", {"X"}, {"Y"}, args));
  ExpectTensor(ws, "Y", {3, 2}, expected);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Feed<float>(&ws, "Z", {2, 2}, {nan, 2, 1, nan});
  RunOp(&ws, Op("PiecewiseLinearTransform", {"Z"}, {"Y"}, args));
  const auto with_nan = FetchValues<float>(ws, "Y");
  EXPECT_TRUE(std::isnan(with_nan[0]) && std::isnan(with_nan[3]));
  EXPECT_EQ(with_nan[1], -2);
  EXPECT_EQ(with_nan[2], 2);
  Feed(&ws, "b", {6}, bounds);
  Feed(&ws, "s", {4}, slopes);
  Feed(&ws, "i", {4}, intercepts);
  RunOp(&ws, Op("PiecewiseLinearTransform", {"X", "b", "s", "i"}, {"Y"}));
  ExpectTensor(ws, "Y", {3, 2}, expected);

  Feed<float>(&ws, "b", {2}, {0, 1});
  Feed<float>(&ws, "s", {1}, {0.5f});
  Feed<float>(&ws, "i", {1}, {0.1f});
  const OperatorDef binary =
      Op("PiecewiseLinearTransform", {"X", "b", "s", "i"}, {"Y"}, {MakeArgument("binary", 1)});
  Feed<float>(&ws, "X", {1, 2}, {0.2f, 0.8f});
  RunOp(&ws, binary);
  ExpectTensor(ws, "Y", {1, 2}, {0.5f, 0.5f});
  Feed<float>(&ws, "X", {2}, {0, 0.8f});
  RunOp(&ws, binary);
  ExpectTensor(ws, "Y", {2}, {0.1f, 0.5f});
  Feed<float>(&ws, "X", {1, 3}, {0, 0, 0});
  ExpectThrows(&ws, binary, "one or two columns");
  ExpectThrows(&ws, Op("PiecewiseLinearTransform", {"X"}, {"Y"}, args),
               "there must be as many slopes as intercepts, and one more bound, for each of the 3 "
               "functions: found 6 bounds, 4 slopes and 4 intercepts");
  ExpectThrows(&ws, Op("PiecewiseLinearTransform", {"X"}, {"Y"}, {args[0]}), "together");
  Feed<float>(&ws, "b", {2}, {1, 0});
  Feed<float>(&ws, "X", {1, 2}, {0, 0});
  ExpectThrows(&ws, binary, "sorted");
}

}  // namespace
}  // namespace caffe2::testing

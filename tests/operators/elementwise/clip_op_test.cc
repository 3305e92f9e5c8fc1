#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ClipOpTest, LimitsAndPassesNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {5}, {-3, -0.5f, 0.25f, 9, NAN});
  const std::vector<Argument> bounds = {MakeArgument("min", -1.f), MakeArgument("max", 1.f)};
  RunOp(&ws, Op("Clip", {"X"}, {"Y"}, bounds));
  ExpectTensor(ws, "Y", {5}, {-1, -0.5f, 0.25f, 1, NAN});
  RunOp(&ws, Op("Clip", {"X"}, {"X"}, {MakeArgument("min", 0.f)}));
  ExpectTensor(ws, "X", {5}, {0, 0, 0.25f, 9, NAN});
  Feed<float>(&ws, "X", {4}, {-3, -0.5f, 0.25f, 9});
  CheckGradient(&ws, Op("Clip", {"X"}, {"Y"}, bounds), {0});
  ExpectThrows(&ws, Op("Clip", {"X"}, {"Y"}, {MakeArgument("min", 1.f), MakeArgument("max", 0.f)}),
               "argument min (1) is larger than argument max (0)");
}

}  // namespace
}  // namespace caffe2::testing

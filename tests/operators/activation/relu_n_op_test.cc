#include <algorithm>
#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kReluN{
    "ReluN", [](double x) { return std::clamp(x, 0., 1.5); }, -1, 1.4f, {MakeArgument("n", 1.5f)}};

TEST(ReluNTest, MatchesReference) { ExpectUnaryReference(kReluN); }
TEST(ReluNTest, GradientIsNumericOne) { CheckUnaryGradient(kReluN, true); }

TEST(ReluNTest, TakesExtremesAndNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {INFINITY, -INFINITY, 0, NAN});
  RunOp(&ws, Op("ReluN", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {6, 0, 0, NAN});
  ExpectThrows(&ws, Op("ReluN", {"X"}, {"Y"}, {MakeArgument("n", 0.f)}),
               "argument n must be positive, found 0");
}

}  // namespace
}  // namespace caffe2::testing

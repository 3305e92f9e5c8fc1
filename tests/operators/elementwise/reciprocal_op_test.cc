#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kReciprocal{"Reciprocal", [](double x) { return 1 / x; }, 0.5f, 3};

TEST(ReciprocalTest, MatchesReference) { ExpectUnaryReference(kReciprocal); }
TEST(ReciprocalTest, GradientIsNumericOne) { CheckUnaryGradient(kReciprocal, true); }

TEST(ReciprocalTest, TakesExtremesAndNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {INFINITY, -INFINITY, 0, NAN});
  RunOp(&ws, kReciprocal.Make("X", "Y"));
  ExpectTensor(ws, "Y", {4}, {0, 0, INFINITY, NAN});
}

}  // namespace
}  // namespace caffe2::testing

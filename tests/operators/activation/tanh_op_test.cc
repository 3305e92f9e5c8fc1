#include <cmath>

#include "tests/operators/activation/activation_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kTanh{"Tanh", [](double x) { return std::tanh(x); }, -30, 30};

TEST(TanhTest, MatchesReference) { ExpectUnaryReference(kTanh, 2e-6f, 2e-7f); }
TEST(TanhTest, IsPreciseNearZeroAndTakesExtremes) { ExpectPreciseActivation(kTanh); }
TEST(TanhTest, GradientIsNumericOne) { CheckUnaryGradient(kTanh, -2, 2, true); }
TEST(TanhTest, RejectsOtherTypes) { ExpectRejectsIntegers(kTanh); }

}  // namespace
}  // namespace caffe2::testing

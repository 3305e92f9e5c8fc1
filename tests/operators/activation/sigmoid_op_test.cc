#include <cmath>

#include "tests/operators/activation/activation_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kSigmoid{"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -30, 30};

TEST(SigmoidTest, MatchesReference) { ExpectUnaryReference(kSigmoid, 2e-6f, 2e-7f); }
TEST(SigmoidTest, IsPreciseNearZeroAndTakesExtremes) { ExpectPreciseActivation(kSigmoid); }
TEST(SigmoidTest, GradientIsNumericOne) { CheckUnaryGradient(kSigmoid, -2, 2, true); }
TEST(SigmoidTest, RejectsOtherTypes) { ExpectRejectsIntegers(kSigmoid); }

}  // namespace
}  // namespace caffe2::testing

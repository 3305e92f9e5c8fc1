#include <cmath>

#include "tests/operators/activation/activation_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kSoftplus{"Softplus", [](double x) { return std::log1p(std::exp(x)); }, -30,
                              30};

TEST(SoftplusTest, MatchesReference) { ExpectUnaryReference(kSoftplus, 2e-6f, 2e-7f); }
TEST(SoftplusTest, IsPreciseNearZeroAndTakesExtremes) { ExpectPreciseActivation(kSoftplus); }
TEST(SoftplusTest, GradientIsNumericOne) { CheckUnaryGradient(kSoftplus, -2, 2, true); }
TEST(SoftplusTest, RejectsOtherTypes) { ExpectRejectsIntegers(kSoftplus); }

}  // namespace
}  // namespace caffe2::testing

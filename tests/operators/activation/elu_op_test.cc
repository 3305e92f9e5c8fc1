#include <cmath>

#include "tests/operators/activation/activation_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kElu{"Elu",
                         [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); },
                         -30,
                         30,
                         {MakeArgument("alpha", 0.7f)}};

TEST(EluTest, MatchesReference) { ExpectUnaryReference(kElu, 2e-6f, 2e-7f); }
TEST(EluTest, IsPreciseNearZeroAndTakesExtremes) { ExpectPreciseActivation(kElu); }
TEST(EluTest, GradientIsNumericOne) { CheckUnaryGradient(kElu, -2, 2, true); }
TEST(EluTest, RejectsOtherTypes) { ExpectRejectsIntegers(kElu); }

}  // namespace
}  // namespace caffe2::testing

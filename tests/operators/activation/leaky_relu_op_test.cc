#include "tests/operators/activation/activation_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kLeakyRelu{"LeakyRelu",
                               [](double x) { return x > 0 ? x : 0.3 * x; },
                               -30,
                               30,
                               {MakeArgument("alpha", 0.3f)}};

TEST(LeakyReluTest, MatchesReference) { ExpectUnaryReference(kLeakyRelu, 2e-6f, 2e-7f); }
TEST(LeakyReluTest, IsPreciseNearZeroAndTakesExtremes) { ExpectPreciseActivation(kLeakyRelu); }
TEST(LeakyReluTest, GradientIsNumericOne) { CheckUnaryGradient(kLeakyRelu, -2, 2, true); }
TEST(LeakyReluTest, RejectsOtherTypes) { ExpectRejectsIntegers(kLeakyRelu); }

}  // namespace
}  // namespace caffe2::testing

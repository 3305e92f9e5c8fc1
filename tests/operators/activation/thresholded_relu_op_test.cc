#include "tests/operators/activation/activation_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kThresholdedRelu{"ThresholdedRelu",
                                     [](double x) { return x <= 0.05 ? 0 : x; },
                                     -30,
                                     30,
                                     {MakeArgument("alpha", 0.05f)}};

TEST(ThresholdedReluTest, MatchesReference) {
  ExpectUnaryReference(kThresholdedRelu, 2e-6f, 2e-7f);
}
TEST(ThresholdedReluTest, IsPreciseNearZeroAndTakesExtremes) {
  ExpectPreciseActivation(kThresholdedRelu);
}
TEST(ThresholdedReluTest, GradientIsNumericOne) {
  CheckUnaryGradient(kThresholdedRelu, -2, 2, true);
}
TEST(ThresholdedReluTest, RejectsOtherTypes) { ExpectRejectsIntegers(kThresholdedRelu); }

}  // namespace
}  // namespace caffe2::testing

#include <cmath>

#include "tests/operators/activation/activation_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kSelu{"Selu",
                          [](double x) { return 1.5 * (x > 0 ? x : 0.7 * std::expm1(x)); },
                          -30,
                          30,
                          {MakeArgument("alpha", 0.7f), MakeArgument("scale", 1.5f)}};

TEST(SeluTest, MatchesReference) { ExpectUnaryReference(kSelu, 2e-6f, 2e-7f); }
TEST(SeluTest, IsPreciseNearZeroAndTakesExtremes) { ExpectPreciseActivation(kSelu); }
TEST(SeluTest, GradientIsNumericOne) { CheckUnaryGradient(kSelu, -2, 2, true); }
TEST(SeluTest, RejectsOtherTypes) { ExpectRejectsIntegers(kSelu); }

TEST(SeluTest, RejectsAScaleBelowOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {3}, 1);
  ExpectThrows(&ws, Op("Selu", {"X"}, {"Y"}, {MakeArgument("scale", 0.9f)}), "scale");
}

}  // namespace
}  // namespace caffe2::testing

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kSqr{"Sqr", [](double x) { return x * x; }, -2, 2};

TEST(SqrTest, MatchesReference) { ExpectUnaryReference(kSqr); }
TEST(SqrTest, GradientIsNumericOne) { CheckUnaryGradient(kSqr); }

TEST(SqrTest, HasNoGradientInPlace) { ExpectNoGradient(kSqr.Make("X", "X")); }

}  // namespace
}  // namespace caffe2::testing

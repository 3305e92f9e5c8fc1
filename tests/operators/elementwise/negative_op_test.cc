#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kNegative{"Negative", [](double x) { return -x; }, -2, 2};

TEST(NegativeTest, MatchesReference) { ExpectUnaryReference(kNegative); }
TEST(NegativeTest, GradientIsNumericOne) { CheckUnaryGradient(kNegative, true); }

}  // namespace
}  // namespace caffe2::testing

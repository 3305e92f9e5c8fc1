#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kSoftsign{"Softsign", [](double x) { return x / (1 + std::abs(x)); }, -8, 8};

TEST(SoftsignTest, MatchesReference) { ExpectUnaryReference(kSoftsign); }

// It needs the input, so that this cannot be overwritten.
TEST(SoftsignTest, GradientIsNumericOne) {
  CheckUnaryGradient(kSoftsign, -2, 2, false);
  ExpectNoGradient(kSoftsign.Make("X", "X"));
}

}  // namespace
}  // namespace caffe2::testing

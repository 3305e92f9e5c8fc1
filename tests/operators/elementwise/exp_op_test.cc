#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kExp{"Exp", [](double x) { return std::exp(x); }, -2, 2};

TEST(ExpTest, MatchesReference) { ExpectUnaryReference(kExp); }
TEST(ExpTest, GradientIsNumericOne) { CheckUnaryGradient(kExp, true); }

TEST(ExpTest, RejectsIntegers) {
  Workspace ws;
  Feed<int64_t>(&ws, "X", {3}, {-3, 0, 4});
  ExpectThrows(&ws, kExp.Make("X", "Y"), "not supported");
}

}  // namespace
}  // namespace caffe2::testing

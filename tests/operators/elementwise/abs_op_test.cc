#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kAbs{"Abs", [](double x) { return std::fabs(x); }, -2, 2};

TEST(AbsTest, MatchesReference) { ExpectUnaryReference(kAbs); }
TEST(AbsTest, GradientIsNumericOne) { CheckUnaryGradient(kAbs); }

TEST(AbsTest, TakesIntegers) {
  Workspace ws;
  Feed<int64_t>(&ws, "X", {3}, {-3, 0, 4});
  RunOp(&ws, Op("Abs", {"X"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Longs{3, 0, 4}));
}

}  // namespace
}  // namespace caffe2::testing

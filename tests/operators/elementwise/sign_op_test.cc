#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kSign{"Sign", [](double x) { return (x > 0) - (x < 0); }, -2, 2};

TEST(SignTest, MatchesReference) { ExpectUnaryReference(kSign); }
TEST(SignTest, HasNoGradient) { ExpectNoGradient(kSign.Make("X", "Y")); }

TEST(SignTest, TakesIntegers) {
  Workspace ws;
  Feed<int64_t>(&ws, "X", {3}, {-3, 0, 4});
  RunOp(&ws, Op("Sign", {"X"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Longs{-1, 0, 1}));
}

}  // namespace
}  // namespace caffe2::testing

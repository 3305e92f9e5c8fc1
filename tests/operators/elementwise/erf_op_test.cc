#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kErf{"Erf", [](double x) { return std::erf(x); }, -2, 2};

TEST(ErfTest, MatchesReference) { ExpectUnaryReference(kErf); }
TEST(ErfTest, GradientIsNumericOne) { CheckUnaryGradient(kErf); }

TEST(ErfTest, RejectsIntegers) {
  Workspace ws;
  Feed<int>(&ws, "I", {1}, {1});
  ExpectThrows(&ws, kErf.Make("I", "Y"), "int");
}

}  // namespace
}  // namespace caffe2::testing

#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kHyperbolicFunctions[] = {
    {"Sinh", [](double x) { return std::sinh(x); }, -2, 2},
    {"Cosh", [](double x) { return std::cosh(x); }, -2, 2}};

TEST(HyperbolicTest, MatchReferences) {
  for (const UnaryFunction& f : kHyperbolicFunctions) ExpectUnaryReference(f);
}

TEST(HyperbolicTest, GradientsAreNumericOnes) {
  for (const UnaryFunction& f : kHyperbolicFunctions) CheckUnaryGradient(f);
}

}  // namespace
}  // namespace caffe2::testing

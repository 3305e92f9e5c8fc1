#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kRoundingFunctions[] = {
    {"Ceil", [](double x) { return std::ceil(x); }, -4, 4},
    {"Floor", [](double x) { return std::floor(x); }, -4, 4}};

TEST(RoundingTest, MatchReferences) {
  for (const UnaryFunction& f : kRoundingFunctions) ExpectUnaryReference(f);
}

TEST(RoundingTest, HaveNoGradients) {
  for (const UnaryFunction& f : kRoundingFunctions) ExpectNoGradient(f.Make("X", "Y"));
}

}  // namespace
}  // namespace caffe2::testing

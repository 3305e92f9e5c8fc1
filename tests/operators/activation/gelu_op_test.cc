#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kGeluFunctions[] = {
    {"Gelu", [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.)); }, -3, 3},
    {"Gelu",
     [](double x) {
       return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     },
     -3,
     3,
     {MakeArgument("fast_gelu", 1)}}};

TEST(GeluTest, MatchReferences) {
  for (const UnaryFunction& f : kGeluFunctions) ExpectUnaryReference(f);
}

TEST(GeluTest, GradientsAreNumericOnes) {
  for (const UnaryFunction& f : kGeluFunctions) CheckUnaryGradient(f);
}

}  // namespace
}  // namespace caffe2::testing

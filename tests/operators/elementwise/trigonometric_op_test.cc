#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kTrigonometricFunctions[] = {
    {"Sin", [](double x) { return std::sin(x); }, -4, 4},
    {"Cos", [](double x) { return std::cos(x); }, -4, 4},
    {"Tan", [](double x) { return std::tan(x); }, -1, 1},
    {"Asin", [](double x) { return std::asin(x); }, -0.8f, 0.8f},
    {"Acos", [](double x) { return std::acos(x); }, -0.8f, 0.8f},
    {"Atan", [](double x) { return std::atan(x); }, -3, 3}};

TEST(TrigonometricTest, MatchReferences) {
  for (const UnaryFunction& f : kTrigonometricFunctions) ExpectUnaryReference(f);
}

TEST(TrigonometricTest, GradientsAreNumericOnes) {
  for (const UnaryFunction& f : kTrigonometricFunctions) CheckUnaryGradient(f);
}

TEST(TrigonometricTest, AsinTakesExtremesAndNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {INFINITY, -INFINITY, 0, NAN});
  RunOp(&ws, Op("Asin", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {NAN, NAN, 0, NAN});
}

}  // namespace
}  // namespace caffe2::testing

#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kLogFunctions[] = {{"Log", [](double x) { return std::log(x); }, 0.5f, 3},
                                       {"Log1p", [](double x) { return std::log1p(x); }, -0.5f, 3}};

TEST(LogTest, MatchReferences) {
  for (const UnaryFunction& f : kLogFunctions) ExpectUnaryReference(f);
}

TEST(LogTest, GradientsAreNumericOnes) {
  for (const UnaryFunction& f : kLogFunctions) CheckUnaryGradient(f);
}

TEST(LogTest, TakeExtremesAndNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {-1, 0});
  RunOp(&ws, Op("Log", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2}, {NAN, -INFINITY});
  Feed<float>(&ws, "X", {4}, {INFINITY, -INFINITY, 0, NAN});
  RunOp(&ws, Op("Log1p", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {INFINITY, NAN, 0, NAN});
}

}  // namespace
}  // namespace caffe2::testing

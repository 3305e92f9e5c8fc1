#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kRootFunctions[] = {
    {"Sqrt", [](double x) { return std::sqrt(x); }, 0.5f, 3},
    {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.5f, 3},
    {"Cbrt", [](double x) { return std::cbrt(x); }, 0.5f, 3}};

TEST(RootTest, MatchReferences) {
  for (const UnaryFunction& f : kRootFunctions) ExpectUnaryReference(f);
}

TEST(RootTest, GradientsAreNumericOnes) {
  for (const UnaryFunction& f : kRootFunctions) CheckUnaryGradient(f, true);
}

TEST(RootTest, TakeExtremesAndNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {INFINITY, -INFINITY, 0, NAN});
  RunOp(&ws, Op("Rsqrt", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {0, NAN, INFINITY, NAN});
  RunOp(&ws, Op("Cbrt", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {INFINITY, -INFINITY, 0, NAN});
}

TEST(RootTest, SqrtTakesBFloat16) {
  Workspace ws;
  Feed<bfloat16>(&ws, "X", {1}, {ToBFloat16(4.f)});
  RunOp(&ws, Op("Sqrt", {"X"}, {"Y"}));
  EXPECT_EQ(ToFloat(FetchValues<bfloat16>(ws, "Y")[0]), 2.f);
}

}  // namespace
}  // namespace caffe2::testing

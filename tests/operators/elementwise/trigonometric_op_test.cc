#include <cmath>
#include <string>
#include <vector>

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

// Small angles, angles near multiples of pi / 2, large ones and numbers that are no angles, in one
// row; in the place of the input too.
TEST(TrigonometricTest, AnglesOfAllSizes) {
  std::vector<float> x = {0.f, -0.f,      1e-40f,     INFINITY, -INFINITY,
                          NAN, 1048576.f, -1048577.f, 3e38f};
  for (int i = 0; i < 3000; ++i) {
    x.push_back(static_cast<float>(i * 1.5707963267948966));
    x.push_back(std::ldexp(i % 2 == 0 ? 1.37f : -1.61f, i % 150 - 25));
  }
  const auto n = static_cast<int64_t>(x.size());
  struct Function {
    const char* name;
    double (*value)(double x);
    double (*slope)(double x);
  };
  const Function kFunctions[] = {
      {"Sin", [](double a) { return std::sin(a); }, [](double a) { return std::cos(a); }},
      {"Cos", [](double a) { return std::cos(a); }, [](double a) { return -std::sin(a); }},
      {"Tan", [](double a) { return std::tan(a); },
       [](double a) { return 1 / (std::cos(a) * std::cos(a)); }}};
  for (const Function& f : kFunctions) {
    SCOPED_TRACE(f.name);
    std::vector<float> y, dx;
    for (const float a : x) {
      y.push_back(static_cast<float>(f.value(a)));
      dx.push_back(static_cast<float>(2 * f.slope(a)));
    }
    Workspace ws;
    Feed(&ws, "X", {n}, x);
    Feed(&ws, "dY", {n}, std::vector<float>(n, 2.f));
    RunOp(&ws, Op(f.name, {"X"}, {"Y"}));
    ExpectTensor(ws, "Y", {n}, y, 3e-7f, 1e-9f);
    RunOp(&ws, Op(f.name + std::string("Gradient"), {"X", "dY"}, {"dX"}));
    ExpectTensor(ws, "dX", {n}, dx, 1e-6f, 1e-9f);
    RunOp(&ws, Op(f.name, {"X"}, {"X"}));
    ExpectTensor(ws, "X", {n}, y, 3e-7f, 1e-9f);
  }
}

TEST(TrigonometricTest, AsinTakesExtremesAndNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {INFINITY, -INFINITY, 0, NAN});
  RunOp(&ws, Op("Asin", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {NAN, NAN, 0, NAN});
}

}  // namespace
}  // namespace caffe2::testing

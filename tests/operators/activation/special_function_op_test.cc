// Functions of one number whose operators are built as activations are: root_op.cc, gelu_op.cc,
// hard_sigmoid_op.cc, trigonometric_op.cc.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

struct Function {
  const char* type;
  std::function<double(double)> reference;
  float low, high;  // the domain that is tested
  bool of_output;   // the gradient comes from Y
  std::vector<Argument> args;
};

double FastGelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

const std::vector<Function>& Functions() {
  static const std::vector<Function> functions = {
      {"Reciprocal", [](double x) { return 1 / x; }, 0.5, 3, true, {}},
      {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.5, 3, true, {}},
      {"Cbrt", [](double x) { return std::cbrt(x); }, 0.5, 3, true, {}},
      {"Cube", [](double x) { return x * x * x; }, -2, 2, false, {}},
      {"Erf", [](double x) { return std::erf(x); }, -2, 2, false, {}},
      {"Gelu", [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.)); }, -3, 3, false, {}},
      {"Gelu", FastGelu, -3, 3, false, {MakeArgument("fast_gelu", 1)}},
      {"HardSigmoid",
       [](double x) { return std::clamp(0.3 * x + 0.4, 0., 1.); },
       -1.2f,
       1.9f,
       true,
       {MakeArgument("alpha", 0.3f), MakeArgument("beta", 0.4f)}},
      {"ReluN",
       [](double x) { return std::clamp(x, 0., 1.5); },
       -1,
       1.4f,
       true,
       {MakeArgument("n", 1.5f)}},
      {"Tan", [](double x) { return std::tan(x); }, -1, 1, false, {}},
      {"Asin", [](double x) { return std::asin(x); }, -0.8f, 0.8f, false, {}},
      {"Acos", [](double x) { return std::acos(x); }, -0.8f, 0.8f, false, {}},
      {"Atan", [](double x) { return std::atan(x); }, -3, 3, false, {}},
      {"Sinh", [](double x) { return std::sinh(x); }, -2, 2, false, {}},
      {"Cosh", [](double x) { return std::cosh(x); }, -2, 2, false, {}},
      {"Log1p", [](double x) { return std::log1p(x); }, -0.5f, 3, false, {}},
  };
  return functions;
}

TEST(SpecialFunctionOpTest, MatchReferences) {
  for (const Function& f : Functions()) {
    SCOPED_TRACE(f.type);
    Workspace ws;
    const int64_t n = 20001;  // more than one part
    FeedRandom(&ws, "X", {n}, 1, f.low, f.high);
    std::vector<float> expected;
    for (const float x : FetchValues<float>(ws, "X")) {
      expected.push_back(static_cast<float>(f.reference(x)));
    }
    RunOp(&ws, Op(f.type, {"X"}, {"Y"}, f.args));
    ExpectTensor(ws, "Y", {n}, expected, 2e-6f, 5e-7f);
    RunOp(&ws, Op(f.type, {"X"}, {"X"}, f.args));
    ExpectTensor(ws, "X", {n}, expected, 2e-6f, 5e-7f);
  }
}

TEST(SpecialFunctionOpTest, GradientsAreNumericOnes) {
  for (const Function& f : Functions()) {
    SCOPED_TRACE(f.type);
    Workspace ws;
    FeedRandom(&ws, "X", {3, 4}, 1, f.low, f.high, 0.1f);
    CheckGradient(&ws, Op(f.type, {"X"}, {"Y"}, f.args), {0});
    if (f.of_output) {
      FeedRandom(&ws, "X", {3, 4}, 1, f.low, f.high, 0.1f);
      CheckGradient(&ws, Op(f.type, {"X"}, {"X"}, f.args), {0});
    }
  }
}

TEST(SpecialFunctionOpTest, TakeExtremesAndNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {INFINITY, -INFINITY, 0, NAN});
  RunOp(&ws, Op("Reciprocal", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {0, 0, INFINITY, NAN});
  RunOp(&ws, Op("Rsqrt", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {0, NAN, INFINITY, NAN});
  RunOp(&ws, Op("Cbrt", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {INFINITY, -INFINITY, 0, NAN});
  RunOp(&ws, Op("HardSigmoid", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {1, 0, 0.5f, NAN});
  RunOp(&ws, Op("ReluN", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {6, 0, 0, NAN});
  RunOp(&ws, Op("Log1p", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {INFINITY, NAN, 0, NAN});
  RunOp(&ws, Op("Asin", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {NAN, NAN, 0, NAN});
  ExpectThrows(&ws, Op("ReluN", {"X"}, {"Y"}, {MakeArgument("n", 0.f)}), "leaves nothing");
  Feed<int>(&ws, "I", {1}, {1});
  ExpectThrows(&ws, Op("Erf", {"I"}, {"Y"}), "int");
}

}  // namespace
}  // namespace caffe2::testing

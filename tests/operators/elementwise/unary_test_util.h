// What the tests of functions of one number share.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

// An operator of one input and one output, and its function in double.
struct UnaryFunction {
  std::string type;
  std::function<double(double)> reference;
  float low, high;  // the domain that is tested
  std::vector<Argument> args = {};

  OperatorDef Make(const std::string& x, const std::string& y) const {
    return Op(type, {x}, {y}, args);
  }
};

// Values of [low, high), none, few and more than one part, out of place and in place.
inline void ExpectUnaryReference(const UnaryFunction& f, float rtol = 2e-6f, float atol = 5e-7f) {
  for (const int64_t n : {0, 7, 50001}) {
    SCOPED_TRACE(f.type + " of " + std::to_string(n));
    Workspace ws;
    FeedRandom(&ws, "X", {n}, 1, f.low, f.high);
    Floats expected;
    for (const float x : FetchValues<float>(ws, "X")) {
      expected.push_back(static_cast<float>(f.reference(x)));
    }
    RunOp(&ws, f.Make("X", "Y"));
    ExpectTensor(ws, "Y", {n}, expected, rtol, atol);
    RunOp(&ws, f.Make("X", "X"));
    ExpectTensor(ws, "X", {n}, expected, rtol, atol);
  }
}

// The gradient by central differences in [low, high), away from zero; in place too where it needs
// the output only.
inline void CheckUnaryGradient(const UnaryFunction& f, float low, float high, bool in_place) {
  SCOPED_TRACE(f.type);
  for (const char* output : {"Y", "X"}) {
    if (output[0] == 'X' && !in_place) break;
    Workspace ws;
    FeedRandom(&ws, "X", {3, 4}, 1, low, high, 0.1f);
    CheckGradient(&ws, f.Make("X", output), {0});
  }
}
inline void CheckUnaryGradient(const UnaryFunction& f, bool in_place = false) {
  CheckUnaryGradient(f, f.low, f.high, in_place);
}

inline void ExpectNoGradient(const OperatorDef& op) {
  GradientWrapper gradient;
  gradient.dense = "dY";
  EXPECT_THROW(GetGradientForOp(op, {gradient}), EnforceNotMet) << op.type();
}

}  // namespace caffe2::testing

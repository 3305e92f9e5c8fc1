// What the tests of activations share.
#pragma once

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {

// Values near zero, where the result must be as precise as its type allows, and far from it.
inline void ExpectPreciseActivation(const UnaryFunction& f) {
  Workspace ws;
  Feed<float>(&ws, "X", {9}, {0, 1e-20f, -1e-6f, 1e-3f, 0.19f, 0.21f, -0.5f, 80, -80});
  Floats expected;
  for (const float x : FetchValues<float>(ws, "X")) {
    expected.push_back(static_cast<float>(f.reference(x)));
  }
  RunOp(&ws, f.Make("X", "Y"));
  ExpectTensor(ws, "Y", {9}, expected, 5e-7f, 0);
  Feed<float>(&ws, "E", {3}, {INFINITY, -INFINITY, NAN});
  RunOp(&ws, f.Make("E", "Y"));
  ExpectTensor(
      ws, "Y", {3},
      {static_cast<float>(f.reference(INFINITY)), static_cast<float>(f.reference(-INFINITY)), NAN});
}

inline void ExpectRejectsIntegers(const UnaryFunction& f) {
  Workspace ws;
  Feed<int>(&ws, "I", {1}, {1});
  ExpectThrows(&ws, f.Make("I", "Y"), "int");
}

}  // namespace caffe2::testing

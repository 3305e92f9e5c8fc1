// Piecewise linear functions of columns, for the host and for devices (host_device.h).
#pragma once

#include "operators/sparse/one_hot_functions.h"

namespace caffe2 {

// Functions that consist of `pieces` lines each, stored one after another. Piece i of a function
// lies between its bounds i and i + 1. Outside the bounds a function has its value at the nearest
// bound.
struct PiecewiseLinear {
  int64_t pieces;
  const float *bounds, *slopes, *intercepts;
  CAFFE2_HOST_DEVICE float Value(int64_t function, float x) const {
    const float* bound = bounds + function * (pieces + 1);
    const float inside = x < bound[0] ? bound[0] : bound[pieces] < x ? bound[pieces] : x;
    const int64_t above = BoundariesBelow(bound, pieces + 1, inside, false);
    const int64_t i = above < 1 ? 0 : above > pieces ? pieces - 1 : above - 1;
    return slopes[function * pieces + i] * inside + intercepts[function * pieces + i];
  }
};

// y[i] = the function of the column of x[i], at x[i].
struct PiecewiseElements {
  static constexpr const char* kName = "PiecewiseLinearTransform";
  PiecewiseLinear functions;
  int64_t columns;
  const float* x;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { y[i] = functions.Value(i % columns, x[i]); }
};
// The same for the last column, the probability of an event. If there are 2 columns, the first one
// becomes 1 minus that probability.
struct PiecewiseEvents {
  static constexpr const char* kName = "PiecewiseLinearTransformBinary";
  PiecewiseLinear function;
  int64_t columns;  // 1 or 2
  const float* x;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t row) const {
    const int64_t last = row * columns + columns - 1;
    const float probability = function.Value(0, x[last]);
    y[last] = probability;
    if (columns == 2) y[last - 1] = 1 - probability;
  }
};

}  // namespace caffe2

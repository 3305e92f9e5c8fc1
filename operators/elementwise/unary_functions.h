// Functions of one number of any floating-point type, for the host and for devices: for MapElements
// (portable_op.h).
#pragma once

#include "operators/common/portable.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

struct PowValue {
  static constexpr const char* kName = "Pow";
  float exponent = 0;
  template <typename N>
  CAFFE2_PORTABLE N operator()(N x) const {
    return exponent == 2.f ? x * x : std::pow(x, static_cast<N>(exponent));
  }
};

struct ReplaceNaNValue {
  static constexpr const char* kName = "ReplaceNaN";
  float value = 0;
  template <typename N>
  CAFFE2_PORTABLE N operator()(N x) const {
    return x != x ? static_cast<N>(value) : x;
  }
};

// The derivative of LpNorm: sign(x) for p = 1, 2 x for p = 2, times factor and gradient.
struct LpNormSlope {
  static constexpr const char* kName = "LpNormGradient";
  int p = 2;
  float factor = 1;
  Rate gradient = {};
  template <typename N>
  CAFFE2_PORTABLE N operator()(N x) const {
    const N slope = p == 1 ? static_cast<N>((x > 0) - (x < 0)) : 2 * x;
    return static_cast<N>(factor * gradient()) * slope;
  }
};

}  // namespace caffe2

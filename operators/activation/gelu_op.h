// Gelu, the gate by the normal distribution: Y = X P(N(0, 1) <= X), with the gradient from X.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct ExactGelu {
  static constexpr const char* kName = "Gelu";
  static constexpr float kRootHalf = 0.7071067812f;
  static constexpr float kRootOfTwoPi = 2.5066282746f;
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return x * Probability(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const {
    const float density = host_device::Exp(-0.5f * x * x) / kRootOfTwoPi;
    return dy * (Probability(x) + x * density);
  }
  CAFFE2_HOST_DEVICE_INLINE static float Probability(float x) {
    return 0.5f * (1 + host_device::Erf(x * kRootHalf));
  }
};

// Approximates P by (1 + tanh(u)) / 2 with u = a (X + b X^3).
struct FastGelu {
  static constexpr const char* kName = "FastGelu";
  static constexpr float kA = 0.7978845608f;  // sqrt(2 / pi)
  static constexpr float kB = 0.044715f;
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return 0.5f * x * (1 + Gate(x)); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const {
    const float gate = Gate(x);
    return dy * 0.5f * (1 + gate + x * (1 - gate * gate) * kA * (1 + 3 * kB * x * x));
  }
  CAFFE2_HOST_DEVICE_INLINE static float Gate(float x) {
    return host_device::Tanh(kA * (x + kB * x * x * x));
  }
};

struct GeluFunction {
  explicit GeluFunction(const OperatorBase& op);
  template <class Body>
  void Choose(const Body& body) const {
    if (fast) {
      body(FastGelu());
    } else {
      body(ExactGelu());
    }
  }
  bool fast;
};

}  // namespace caffe2

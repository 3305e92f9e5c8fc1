// Updates of parameters, for the host and for devices (portable.h). State is float. Outputs may be
// the memory of inputs, element by element.
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

// A number that steers an update, where the functor runs, or with a null address by value.
struct Rate {
  const float* address = nullptr;
  float value = 0;
  CAFFE2_PORTABLE float operator()() const { return address != nullptr ? *address : value; }
};

// FTRL-proximal: n' = n + g^2, z' = z + g - (sqrt(n') - sqrt(n)) / alpha w, and w' from them.
struct FtrlRule {
  float beta, lambda1, lambda2;
  CAFFE2_PORTABLE void Update(float alpha, float g, float w, float n, float z, float* w_out,
                              float* n_out, float* z_out) const {
    const float inverse = 1 / alpha, next = n + g * g;
    const float sigma = (std::sqrt(next) - std::sqrt(n)) * inverse;
    const float moved = z + g - sigma * w;
    *n_out = next;
    *z_out = moved;
    *w_out = std::fabs(moved) > lambda1 ? (std::copysign(lambda1, moved) - moved) /
                                              ((beta + std::sqrt(next)) * inverse + lambda2)
                                        : 0;
  }
};
struct FtrlElements {
  static constexpr const char* kName = "Ftrl";
  FtrlRule rule;
  Rate alpha;
  const float *w, *state, *g;  // state: n and z of each element in turn
  float *w_out, *state_out;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    rule.Update(alpha(), g[i], w[i], state[2 * i], state[2 * i + 1], w_out + i, state_out + 2 * i,
                state_out + 2 * i + 1);
  }
};

// Adadelta: h' and d' are mean squares of gradients and of steps.
struct AdadeltaElements {
  static constexpr const char* kName = "Adadelta";
  float epsilon = 0, decay = 0;
  Rate lr = {};
  const float *p = nullptr, *h = nullptr, *d = nullptr, *g = nullptr;
  float *p_out = nullptr, *h_out = nullptr, *d_out = nullptr;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float squares = decay * h[i] + (1 - decay) * g[i] * g[i];
    const float step = std::sqrt(d[i] + epsilon) / std::sqrt(squares + epsilon) * g[i];
    const float next = p[i] + lr() * step;
    h_out[i] = squares;
    d_out[i] = decay * d[i] + (1 - decay) * step * step;
    p_out[i] = next;
  }
};

// DecayAdagrad: m1' = beta1 m1 + (1 - beta1) g, m2' = m2 + g^2.
struct DecayAdagradElements {
  static constexpr const char* kName = "DecayAdagrad";
  float beta1, epsilon, weight_decay, correction;
  Rate lr;
  const float *p, *m1, *m2, *g;
  float *p_out, *m1_out, *m2_out;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float first = beta1 * m1[i] + (1 - beta1) * g[i];
    const float second = m2[i] + g[i] * g[i];
    const float step = correction * first / (std::sqrt(second) + epsilon) + weight_decay * p[i];
    const float next = p[i] + lr() * step;
    m1_out[i] = first;
    m2_out[i] = second;
    p_out[i] = next;
  }
};

// The factor of Lars, from the sums of squares of the parameter and of its gradient. With
// `has_trust` it is trust / (|dx| / |x| + decay + offset), within [lr_min, lr_max].
struct LarsFactor {
  static constexpr const char* kName = "Lars";
  float offset = 0, lr_min = 0;
  bool has_trust = false;
  Rate decay = {}, trust = {}, lr_max = {};
  const float *squares = nullptr, *gradient_squares = nullptr;
  float* factor = nullptr;
  CAFFE2_PORTABLE void operator()(int64_t /*i*/) const {
    const float x_norm = std::sqrt(*squares), dx_norm = std::sqrt(*gradient_squares);
    float rate = 1;
    if (!has_trust) {
      if (x_norm > 0) rate = 1 / (dx_norm / x_norm + offset);
    } else {
      if (x_norm > 0) rate = trust() / (dx_norm / x_norm + decay() + offset);
      rate = std::max(std::min(rate, lr_max()), lr_min);
    }
    *factor = rate;
  }
};

// y = x, or where `norm` is over threshold * factor, x scaled down to that.
template <typename T>
struct ClipByScaling {
  static constexpr const char* kName = "ClipTensorByScaling";
  float threshold;
  Rate norm, factor;
  const T* x;
  T* y;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float limit = threshold * factor(), value = norm();
    y[i] = value > limit ? portable::Narrow<T>(portable::Widen(x[i]) * (limit / value)) : x[i];
  }
};

}  // namespace caffe2

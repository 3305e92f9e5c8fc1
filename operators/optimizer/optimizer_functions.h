// Functors for updates of parameters, for the host and for devices (host_device.h). State is float.
// An output may overwrite the corresponding input.
#pragma once

#include "operators/common/rate.h"

namespace caffe2 {

// The factor of Lars, from the sums of squares of the parameter and of its gradient. With
// `has_trust` it is trust / (|dx| / |x| + decay + offset), within [lr_min, lr_max]. It is
// multiplied by lr.
struct LarsFactor {
  static constexpr const char* kName = "Lars";
  float offset = 0, lr_min = 0;
  bool has_trust = false;
  Rate decay = {}, trust = {}, lr_max = {}, lr = {nullptr, 1.f};
  const float *squares = nullptr, *gradient_squares = nullptr;
  float* factor = nullptr;
  CAFFE2_HOST_DEVICE void operator()(int64_t /*i*/) const {
    const float x_norm = std::sqrt(*squares), dx_norm = std::sqrt(*gradient_squares);
    float rate = 1;
    if (!has_trust) {
      if (x_norm > 0) rate = 1 / (dx_norm / x_norm + offset);
    } else {
      if (x_norm > 0) rate = trust() / (dx_norm / x_norm + decay() + offset);
      rate = std::max(std::min(rate, lr_max()), lr_min);
    }
    *factor = rate * lr();
  }
};

// y = x or, if `norm` exceeds threshold * factor, x scaled down to that norm.
template <typename T>
struct ClipByScaling {
  static constexpr const char* kName = "ClipTensorByScaling";
  float threshold;
  Rate norm, factor;
  const T* x;
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const float limit = threshold * factor(), value = norm();
    y[i] =
        value > limit ? host_device::Narrow<T>(host_device::Widen(x[i]) * (limit / value)) : x[i];
  }
};

}  // namespace caffe2

// Functions of elements, with parameters of their rows or columns, for the host and for devices
// (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The Box-Cox transform of x + lambda2, with the lambdas of the column of x.
template <typename T>
struct BoxCoxElements {
  static constexpr const char* kName = "BatchBoxCox";
  int64_t columns;
  const T *x, *lambda1, *lambda2;
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    constexpr T kMinValue = T(1e-6);  // smaller values are raised to this
    const T power = lambda1[i % columns], sum = x[i] + lambda2[i % columns];
    const T value = sum < kMinValue ? kMinValue : sum;
    y[i] = power == 0 ? std::log(value) : (std::pow(value, power) - 1) / power;
  }
};

// x divided by the square root of its row's number; x itself unless that number is positive.
template <typename S>
struct RootDivideElements {
  static constexpr const char* kName = "SquareRootDivide";
  int64_t width;
  const float* x;
  const S* scale;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const S number = scale[i / width];
    const float factor =
        number > 0 ? static_cast<float>(1 / std::sqrt(static_cast<double>(number))) : 1.f;
    y[i] = x[i] * factor;
  }
};

// Element i of [positions, size]: waves of growing length at the position, in double as positions
// may be large.
template <typename Index>
struct SinusoidElements {
  static constexpr const char* kName = "SinusoidPositionEncoding";
  int64_t size;
  float alpha, amplitude;
  const Index* position;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t k = i % size;
    const double share = static_cast<double>(k) / static_cast<double>(size);
    const double angle =
        static_cast<double>(position[i / size]) / std::pow(static_cast<double>(alpha), share);
    y[i] = static_cast<float>(amplitude * (k % 2 == 0 ? std::sin(angle) : std::cos(angle)));
  }
};

}  // namespace caffe2

// Glu, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

// Row i of y [rows, half] is the first half of row i of x [rows, 2 half] times the sigmoid of the
// second half. T is float or a type of 16 bits; arithmetic is in float.
template <typename T>
struct GluRows {
  static constexpr const char* kName = "Glu";
  int64_t half;
  const T* x;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const T *value = x + 2 * row * half, *gate = value + half;
    T* const to = y + row * half;
    host_device::ForEachOf(team, half, [=](int64_t j) {
      to[j] = host_device::Narrow<T>(host_device::Widen(value[j]) *
                                     host_device::Sigmoid(host_device::Widen(gate[j])));
    });
  }
};

}  // namespace caffe2

// Tensors combined element by element or row by row, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

enum class Combination { kMax, kMin, kSum };

// y = the inputs, combined from the left, then times `factor`. If an input is NaN, so is y. More
// than kMaxInputs inputs take several passes: each pass except the last writes its wide result to
// `partial`, and the next pass reads it as `start`.
template <typename T>
struct CombineInputs {
  static constexpr const char* kName = "CombineInputs";
  static constexpr int kMaxInputs = 16;
  using Wide = decltype(host_device::Widen(T{}));
  Combination combination;
  int count;
  const T* x[kMaxInputs];
  float factor;
  const Wide* start;  // null in the first pass
  Wide* partial;      // null in the last pass
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    Wide result = start != nullptr ? start[i] : host_device::Widen(x[0][i]);
    for (int k = start != nullptr ? 0 : 1; k < count; ++k) {
      const Wide value = host_device::Widen(x[k][i]);
      if (combination == Combination::kSum) {
        result += value;
      } else {
        const bool keep = combination == Combination::kMax ? result > value : result < value;
        result = keep || result != result ? result : value;
      }
    }
    if (partial != nullptr) {
      partial[i] = result;
      return;
    }
    if (combination == Combination::kSum) result = static_cast<Wide>(result * factor);
    y[i] = host_device::Narrow<T>(result);
  }
};
// dx = dy where x equals the chosen value y, else 0.
template <typename T>
struct SelectGradient {
  static constexpr const char* kName = "SelectGradient";
  const T *y, *dy, *x;
  T* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    dx[i] = host_device::Widen(x[i]) == host_device::Widen(y[i]) ? dy[i] : T{};
  }
};

// y[i, :] = x[i, :] * w[i]
template <typename T>
struct MultiplyRows {
  static constexpr const char* kName = "RowMul";
  int64_t width;
  const T *x, *w;
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    y[i] = host_device::Narrow<T>(host_device::Widen(x[i]) * host_device::Widen(w[i / width]));
  }
};
// y[i] = the sum of row i
template <typename T>
struct SumOfRows {
  static constexpr const char* kName = "ReduceTailSum";
  int64_t width;
  const T* x;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const T* from = x + row * width;
    const auto sum =
        host_device::SumOver(team, width, [=](int64_t j) { return host_device::Widen(from[j]); });
    if (team.leader()) y[row] = host_device::Narrow<T>(sum);
  }
};
// y[j] = the sum over rows i of w[i] x[i, j]
template <typename T>
struct WeightedSumOfRows {
  static constexpr const char* kName = "ReduceFrontWeightedSum";
  int64_t rows, width;
  const T *x, *w;
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t j) const {
    float sum = 0;
    for (int64_t i = 0; i < rows; ++i) {
      sum += host_device::Widen(w[i]) * host_device::Widen(x[i * width + j]);
    }
    y[j] = host_device::Narrow<T>(sum);
  }
};
// dx[i, j] = w[i] dy[j]
template <typename T>
struct OuterProduct {
  static constexpr const char* kName = "ReduceFrontWeightedSumGradient";
  int64_t width;
  const T *w, *dy;
  T* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    dx[i] = host_device::Narrow<T>(host_device::Widen(w[i / width]) *
                                   host_device::Widen(dy[i % width]));
  }
};

}  // namespace caffe2

// Linear interpolation of images, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The positions of `output` pixels on an axis of `input` pixels. The first pixels of both coincide,
// and so do the last pixels.
struct ScaledAxis {
  int64_t input = 0, output = 0;
  float step = 0;

  // A place between two pixels. `share` is the weight of pixel `high`.
  struct Place {
    int64_t low, high;
    float share;
    // The weight of pixel i.
    CAFFE2_HOST_DEVICE float Weight(int64_t i) const {
      return (low == i ? 1 - share : 0.f) + (high == i ? share : 0.f);
    }
  };
  CAFFE2_HOST_DEVICE Place At(int64_t i) const {
    const float at = step * static_cast<float>(i);
    const auto whole = static_cast<int64_t>(at);
    const int64_t low = whole < input - 1 ? whole : input - 1;
    return {low, low + 1 < input - 1 ? low + 1 : input - 1, at - static_cast<float>(low)};
  }
  // The output pixels [first, last) that may use input pixel i; a few of them do not.
  CAFFE2_HOST_DEVICE int64_t First(int64_t i) const {
    if (step <= 0) return 0;
    const auto first = static_cast<int64_t>(static_cast<float>(i - 1) / step) - 1;
    return first > 0 ? first : 0;
  }
  CAFFE2_HOST_DEVICE int64_t Last(int64_t i) const {
    if (step <= 0) return output;
    const auto last = static_cast<int64_t>(static_cast<float>(i + 1) / step) + 2;
    return last < output ? last : output;
  }
};

// Row of Y: rows.output of each plane.
template <typename T>
struct BilinearRows {
  static constexpr const char* kName = "UpsampleBilinear";
  ScaledAxis rows, columns;
  const T* x;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const auto place = rows.At(row % rows.output);
    const T* plane = x + row / rows.output * rows.input * columns.input;
    const T *above = plane + place.low * columns.input, *below = plane + place.high * columns.input;
    for (int64_t j = team.first(); j < columns.output; j += team.step()) {
      const auto [left, right, share] = columns.At(j);
      float sum = (1 - place.share) * (1 - share) * host_device::Widen(above[left]);
      sum += (1 - place.share) * share * host_device::Widen(above[right]);
      sum += place.share * (1 - share) * host_device::Widen(below[left]);
      sum += place.share * share * host_device::Widen(below[right]);
      y[row * columns.output + j] = host_device::Narrow<T>(sum);
    }
  }
};

// Row of dX: each pixel adds up its shares of the pixels interpolated from it, in order.
template <typename T>
struct BilinearGradientRows {
  static constexpr const char* kName = "UpsampleBilinearGradient";
  ScaledAxis rows, columns;
  const T* dy;
  T* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const int64_t r = row % rows.input;
    const T* plane = dy + row / rows.input * rows.output * columns.output;
    for (int64_t c = team.first(); c < columns.input; c += team.step()) {
      float sum = 0;
      for (int64_t i = rows.First(r); i < rows.Last(r); ++i) {
        const float weight = rows.At(i).Weight(r);
        if (weight == 0) continue;
        for (int64_t j = columns.First(c); j < columns.Last(c); ++j) {
          const float share = columns.At(j).Weight(c);
          if (share != 0) sum += weight * share * host_device::Widen(plane[i * columns.output + j]);
        }
      }
      dx[row * columns.input + c] = host_device::Narrow<T>(sum);
    }
  }
};

}  // namespace caffe2

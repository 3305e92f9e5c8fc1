// The gradient of Tile, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// dx[o, i] = the sum over t of dy[o, t, i], with i < run.
template <typename T>
struct SumTiles {
  static constexpr const char* kName = "TileGradient";
  int64_t tiles, run;
  const T* dy;
  T* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const T* from = dy + i / run * tiles * run + i % run;
    float sum = 0;
    for (int64_t t = 0; t < tiles; ++t) sum += host_device::Widen(from[t * run]);
    dx[i] = host_device::Narrow<T>(sum);
  }
};

}  // namespace caffe2

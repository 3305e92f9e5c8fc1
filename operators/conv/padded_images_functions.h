// Copies from padded images, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// x is an array of images, outer x size[0] x size[1] x size[2] x inner. The padded images have
// padded_size[a] pixels on axis a; pixel i of an image is pixel i + begin[a] of the padded image,
// or lies outside it. Adds the padded images to x, or overwrites x; then pixels outside become 0.
struct CopyFromPadded {
  static constexpr const char* kName = "CopyFromPadded";
  int64_t size[3], padded_size[3], begin[3], inner;
  bool add;
  const float* padded;
  float* x;

  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    int64_t rest = i / inner, index[3];
    for (int a = 2; a >= 0; --a) {
      index[a] = rest % size[a] + begin[a];
      rest /= size[a];
    }
    bool inside = true;
    for (int a = 0; a < 3; ++a) {
      inside = inside && index[a] < padded_size[a];
      rest = rest * padded_size[a] + index[a];
    }
    const float value = inside ? padded[rest * inner + i % inner] : 0.f;
    x[i] = add ? x[i] + value : value;
  }
};

}  // namespace caffe2

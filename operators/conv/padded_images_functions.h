// Copies between images and padded images, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Arrays of images: outer x size[0] x size[1] x size[2] x inner values, and padded images: outer x
// padded_size[0] x padded_size[1] x padded_size[2] x inner. Pixel i of an image on axis a is pixel
// i + begin[a] of the padded image, or lies outside it.
struct PaddedImages {
  int64_t size[3], padded_size[3], begin[3], inner;
};

// Writes the padded images to x, or adds them. Pixels outside the padded images count as 0.
struct CopyFromPadded {
  static constexpr const char* kName = "CopyFromPadded";
  PaddedImages layout;
  bool add;
  const float* padded;
  float* x;

  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    int64_t rest = i / layout.inner, index[3];
    for (int a = 2; a >= 0; --a) {
      index[a] = rest % layout.size[a] + layout.begin[a];
      rest /= layout.size[a];
    }
    bool inside = true;
    for (int a = 0; a < 3; ++a) {
      inside = inside && index[a] < layout.padded_size[a];
      rest = rest * layout.padded_size[a] + index[a];
    }
    const float value = inside ? padded[rest * layout.inner + i % layout.inner] : 0.f;
    x[i] = add ? x[i] + value : value;
  }
};

// Writes all pixels of the padded images: x where it covers them, else 0.
struct CopyIntoPadded {
  static constexpr const char* kName = "CopyIntoPadded";
  PaddedImages layout;
  const float* x;
  float* padded;

  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    int64_t rest = i / layout.inner, index[3];
    for (int a = 2; a >= 0; --a) {
      index[a] = rest % layout.padded_size[a] - layout.begin[a];
      rest /= layout.padded_size[a];
    }
    bool inside = true;
    for (int a = 0; a < 3; ++a) {
      inside = inside && index[a] >= 0 && index[a] < layout.size[a];
      rest = rest * layout.size[a] + index[a];
    }
    padded[i] = inside ? x[rest * layout.inner + i % layout.inner] : 0.f;
  }
};

}  // namespace caffe2

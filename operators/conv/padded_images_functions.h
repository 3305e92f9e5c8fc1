// Copies between images and padded images, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Arrays of images: outer x size[0] x size[1] x size[2] x inner values, and padded images: outer x
// padded_size[0] x padded_size[1] x padded_size[2] x inner. Pixel i of an image on axis a is pixel
// i + begin[a] of the padded image, or lies outside it.
struct PaddedImages {
  int64_t size[3], padded_size[3], begin[3], inner;

  // Where value i of the images lies in the padded images; -1 if outside.
  CAFFE2_HOST_DEVICE int64_t InPadded(int64_t i) const { return Moved(i, size, padded_size, 1); }
  // Where value i of the padded images lies in the images; -1 if outside.
  CAFFE2_HOST_DEVICE int64_t InImages(int64_t i) const { return Moved(i, padded_size, size, -1); }

 private:
  CAFFE2_HOST_DEVICE int64_t Moved(int64_t i, const int64_t* from, const int64_t* to,
                                   int sign) const {
    int64_t rest = i / inner, index[3];
    for (int a = 2; a >= 0; --a) {
      index[a] = rest % from[a] + sign * begin[a];
      rest /= from[a];
    }
    for (int a = 0; a < 3; ++a) {
      if (index[a] < 0 || index[a] >= to[a]) return -1;
      rest = rest * to[a] + index[a];
    }
    return rest * inner + i % inner;
  }
};

// Writes the padded images to x, or adds them. Pixels outside the padded images count as 0.
struct CopyFromPadded {
  static constexpr const char* kName = "CopyFromPadded";
  PaddedImages layout;
  bool add;
  const float* padded;
  float* x;

  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t at = layout.InPadded(i);
    const float value = at < 0 ? 0.f : padded[at];
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
    const int64_t at = layout.InImages(i);
    padded[i] = at < 0 ? 0.f : x[at];
  }
};

}  // namespace caffe2

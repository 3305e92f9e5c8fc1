// Dropout of one element, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The value times `scale` if the element is kept, else 0: what Dropout makes of an element, and its
// gradient operator of a gradient.
struct KeptElement {
  static constexpr const char* kName = "DropoutGradient";
  float scale;
  CAFFE2_HOST_DEVICE_INLINE float operator()(float value, bool keep) const {
    const float scaled = value * scale;
    return keep ? scaled : 0.f;
  }
};

}  // namespace caffe2

// Softmax over groups of channels, for the host and for devices (host_device.h). Each functor
// handles one pixel of one group. Groups are the images of PixelLabels, whose labels are not read.
#pragma once

#include "operators/common/host_device_math.h"
#include "operators/common/pixel_labels.h"

namespace caffe2 {

struct GroupSoftmax {
  static constexpr const char* kName = "GroupSpatialSoftmax";
  PixelLabels pixels;
  const float* x;
  float* p;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = pixels.First(i), end = first + pixels.classes * pixels.area;
    float max = x[first], sum = 0;
    for (int64_t at = first; at < end; at += pixels.area) {
      max = x[at] > max || x[at] != x[at] ? x[at] : max;
    }
    for (int64_t at = first; at < end; at += pixels.area) {
      p[at] = host_device::Exp(x[at] - max);
      sum += p[at];
    }
    const float inverse = 1 / sum;
    for (int64_t at = first; at < end; at += pixels.area) p[at] *= inverse;
  }
};

// dx = p * (dp - the sum of p * dp over the group)
struct GroupSoftmaxGradient {
  static constexpr const char* kName = "GroupSpatialSoftmaxGradient";
  PixelLabels pixels;
  const float *p, *dp;
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = pixels.First(i), end = first + pixels.classes * pixels.area;
    float sum = 0;
    for (int64_t at = first; at < end; at += pixels.area) sum += p[at] * dp[at];
    for (int64_t at = first; at < end; at += pixels.area) dx[at] = p[at] * (dp[at] - sum);
  }
};

}  // namespace caffe2

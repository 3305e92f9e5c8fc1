// Class labels of the pixels of images, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

constexpr int kIgnoredLabel = -1;  // the label of pixels that do not count

// Labels of `batch` images of `area` pixels, one for each pixel, and their weights.
struct PixelLabels {
  int64_t batch = 0, classes = 0, area = 0;
  const int* labels = nullptr;
  const float* weights = nullptr;  // null: 1 for all

  CAFFE2_HOST_DEVICE int64_t count() const { return batch * area; }
  CAFFE2_HOST_DEVICE float Weight(int64_t i) const {
    return labels[i] == kIgnoredLabel ? 0.f : weights == nullptr ? 1.f : weights[i];
  }
  // Position in N x C x H x W of the first class of pixel i. Classes are `area` apart.
  CAFFE2_HOST_DEVICE int64_t First(int64_t i) const { return i / area * classes * area + i % area; }
};

}  // namespace caffe2

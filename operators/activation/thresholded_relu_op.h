// ThresholdedRelu: Y = X where X > alpha, else 0, with the gradient from Y.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct ThresholdedReluFunction {
  static constexpr const char* kName = "ThresholdedRelu";
  explicit ThresholdedReluFunction(const OperatorBase& op);
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return x <= alpha ? 0.f : x; }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const { return y > alpha ? dy : 0.f; }
  float alpha;
};

}  // namespace caffe2

// StumpFunc: one of two values, depending on whether X is above a threshold.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct StumpFunction {
  static constexpr const char* kName = "StumpFunc";
  explicit StumpFunction(const OperatorBase& op);
  // NaN counts as above the threshold.
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return x <= threshold ? low : high; }
  float threshold, low, high;
};

}  // namespace caffe2

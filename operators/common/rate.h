// Numbers that steer functors, such as a learning rate (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// One float in memory where the functor runs, or, where the address is null, by value.
struct Rate {
  const float* address = nullptr;
  float value = 0;
  CAFFE2_HOST_DEVICE float operator()() const { return address != nullptr ? *address : value; }
};

}  // namespace caffe2

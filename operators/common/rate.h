// Scalars that functors (host_device.h) read, such as a learning rate.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// One float: in memory that the functor can read, or by value if the address is null.
struct Rate {
  const float* address = nullptr;
  float value = 0;
  CAFFE2_HOST_DEVICE float operator()() const { return address != nullptr ? *address : value; }
};

}  // namespace caffe2

// Indices of rows, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// int32 or int64, in the memory of the functor's device.
struct RowIndices {
  const void* data = nullptr;
  bool is_int64 = false;
  int64_t n = 0, rows = 0;  // indices are in [0, rows)
  int64_t group = 0;        // if positive, each run of `group` indices has its own matrix

  CAFFE2_HOST_DEVICE int64_t At(int64_t i) const {
    return is_int64 ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
  // False for an index out of range, which functors must skip on a device (checked_indices.h).
  CAFFE2_HOST_DEVICE bool Has(int64_t row) const { return row >= 0 && row < rows; }
};

}  // namespace caffe2

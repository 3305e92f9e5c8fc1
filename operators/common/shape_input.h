// Inputs that hold shapes, bounds or counts.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/tensor.h"
#include "operators/common/indices.h"

namespace caffe2 {

// The values of a one-dimensional int64 or int32 tensor, copied to the host. Throws EnforceNotMet,
// naming `what`, for other tensors.
inline std::vector<int64_t> ReadDimensions(const Tensor& on_any_device, const char* what) {
  Tensor copy(CPU);
  const Tensor& tensor = OnHost(on_any_device, &copy);
  CAFFE_ENFORCE(tensor.dim() == 1, what, " must be one-dimensional, found shape ",
                ShapeString(tensor.sizes()));
  return ReadIntegers(tensor, what);
}

// The value of an int64 or int32 tensor of one element, copied to the host. Throws EnforceNotMet,
// naming `what`, for other tensors.
inline int64_t ReadInteger(const Tensor& on_any_device, const char* what) {
  Tensor copy(CPU);
  const Tensor& tensor = OnHost(on_any_device, &copy);
  CAFFE_ENFORCE(tensor.numel() == 1, what, " must have one element, found shape ",
                ShapeString(tensor.sizes()));
  return ReadIntegers(tensor, what)[0];
}

}  // namespace caffe2

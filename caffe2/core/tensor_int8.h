// Quantized tensors.
#pragma once

#include "caffe2/core/blob.h"
#include "caffe2/core/tensor.h"

namespace caffe2 {
namespace int8 {

// Numbers q that represent scale * (q - zero_point), in host memory: uint8_t, or int32_t for
// biases. The name and the members are Caffe2's.
struct Int8TensorCPU {
  float scale = 1;
  int32_t zero_point = 0;
  Tensor t{CPU};
};

}  // namespace int8

CAFFE2_TYPE_NAME(int8::Int8TensorCPU, "Int8TensorCPU");

// The tensor in the blob, plain or quantized; null if there is neither.
inline const Tensor* BlobPlainOrInt8Tensor(const Blob& blob) {
  if (blob.IsType<int8::Int8TensorCPU>()) return &blob.Get<int8::Int8TensorCPU>().t;
  return BlobTensor(blob);
}

}  // namespace caffe2

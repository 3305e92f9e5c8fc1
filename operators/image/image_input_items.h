// Tensors of bytes that hold a struct for each item of a batch.
#pragma once

#include <cstdint>
#include <cstring>

#include "caffe2/core/tensor.h"

namespace caffe2 {

// Makes *output a tensor of {n, sizeof(T)} bytes.
template <typename T>
void ResizeItems(Tensor* output, int64_t n) {
  output->Resize(n, static_cast<int64_t>(sizeof(T)));
  output->mutable_data<uint8_t>();
}

template <typename T>
void SetItem(Tensor* output, int item, const T& value) {
  std::memcpy(output->mutable_data<uint8_t>() + static_cast<size_t>(item) * sizeof(T), &value,
              sizeof(T));
}

}  // namespace caffe2

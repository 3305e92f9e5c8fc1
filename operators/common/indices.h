// Checks row numbers on the host.
#pragma once

#include <vector>

#include "caffe2/core/tensor.h"

namespace caffe2 {

// Throws EnforceNotMet, naming the first wrong index, unless all n indices are in [0, rows).
void CheckIndices(int64_t n, const int32_t* indices, int64_t rows);
void CheckIndices(int64_t n, const int64_t* indices, int64_t rows);

// The values of an int32 or int64 tensor on the host. Throws EnforceNotMet, naming `what` and the
// type, for other types.
inline std::vector<int64_t> ReadIntegers(const Tensor& tensor, const char* what) {
  const int64_t n = tensor.numel();
  if (tensor.IsType<int32_t>()) {
    return {tensor.data<int32_t>(), tensor.data<int32_t>() + n};
  }
  CAFFE_ENFORCE(tensor.IsType<int64_t>(), what, " must be int32 or int64, not ",
                tensor.dtype().name());
  return {tensor.data<int64_t>(), tensor.data<int64_t>() + n};
}

// The same, checked by CheckIndices.
inline std::vector<int64_t> ReadIndices(const Tensor& indices, int64_t rows) {
  std::vector<int64_t> list = ReadIntegers(indices, "indices");
  CheckIndices(static_cast<int64_t>(list.size()), list.data(), rows);
  return list;
}

// The same in place: returns the memory of an int64 tensor, or `copy`, which gets the values of an
// int32 tensor.
inline const int64_t* ReadIndices(const Tensor& indices, int64_t rows, std::vector<int64_t>* copy) {
  if (!indices.IsType<int64_t>()) {
    *copy = ReadIndices(indices, rows);
    return copy->data();
  }
  CheckIndices(indices.numel(), indices.data<int64_t>(), rows);
  return indices.data<int64_t>();
}

}  // namespace caffe2

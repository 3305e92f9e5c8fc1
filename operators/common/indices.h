// Checks row numbers on the host.
#pragma once

#include <vector>

#include "caffe2/core/tensor.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {

// True if all n indices are in [0, rows).
template <typename Index>
CAFFE2_SIMD_CLONES bool AreIndices(int64_t n, const Index* indices, int64_t rows) {
  uint64_t signs = 0;  // the highest bit is set if an index or its distance to the last is negative
#pragma omp simd reduction(| : signs)
  for (int64_t i = 0; i < n; ++i) {
    const auto index = static_cast<uint64_t>(static_cast<int64_t>(indices[i]));
    signs |= index | (static_cast<uint64_t>(rows) - 1 - index);
  }
  return signs >> 63 == 0;
}

// Throws EnforceNotMet, naming the first wrong index, unless all n indices are in [0, rows).
template <typename Index>
void CheckIndices(int64_t n, const Index* indices, int64_t rows) {
  if (AreIndices(n, indices, rows)) return;
  for (int64_t i = 0; i < n; ++i) {
    CAFFE_ENFORCE(indices[i] >= 0 && indices[i] < rows, "index ", indices[i], " at position ", i,
                  " is out of range for ", rows, " rows");
  }
}

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

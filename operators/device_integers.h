// Lists of integers as kernels read them.
#pragma once

#include "caffe2/core/tensor.h"
#include "operators/row_kernels.h"

namespace caffe2 {

// An int32 or int64 tensor of one dimension, whose values should be below `rows`; throws for any
// other, by the name `what`.
inline RowIndices IntegersOf(const Tensor& tensor, int64_t rows, const char* what) {
  CAFFE_ENFORCE(tensor.IsType<int32_t>() || tensor.IsType<int64_t>(), what,
                " must be int32 or int64, not ", tensor.dtype().name());
  CAFFE_ENFORCE_EQ(tensor.dim(), 1, what, " ", ShapeString(tensor.sizes()),
                   " must be one-dimensional");
  return {tensor.raw_data(), tensor.IsType<int64_t>(), tensor.numel(), rows};
}

}  // namespace caffe2

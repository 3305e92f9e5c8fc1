// Positions sorted by the rows that indices name, on CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/optimizer/row_functions.h"

namespace caffe2 {

// Indices (int32 or int64) in order, those of a row by position; the keys are in `storage`. What is
// out of range is reported.
SortedRows SortIndices(const Tensor& indices, int64_t rows, Tensor* storage, CUDAContext* context);

}  // namespace caffe2

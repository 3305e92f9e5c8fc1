// The selection of rows for Where and Conditional on CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/elementwise/where_op.h"

namespace caffe2 {

// As for the CPU. Strings cannot be on a device.
void SelectRows(int64_t rows, int64_t width, const bool* choose, const Tensor& x, const Tensor& y,
                Tensor* z, CUDAContext* context);

}  // namespace caffe2

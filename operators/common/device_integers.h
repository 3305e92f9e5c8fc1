// Lists of integers for kernels.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/segment/segment_functions.h"
#include "operators/sparse/row_kernels.h"

namespace caffe2 {

// The values of a one-dimensional int32 or int64 tensor. Does not check that they are in [0, rows).
// Throws EnforceNotMet, naming `what`, for another type or shape.
inline RowIndices IntegersOf(const Tensor& tensor, int64_t rows, const char* what) {
  CAFFE_ENFORCE(tensor.IsType<int32_t>() || tensor.IsType<int64_t>(), what,
                " must be int32 or int64, not ", tensor.dtype().name());
  CAFFE_ENFORCE(tensor.dim() == 1, what, " must be one-dimensional, found shape ",
                ShapeString(tensor.sizes()));
  return {tensor.raw_data(), tensor.IsType<int64_t>(), tensor.numel(), rows};
}

// Computes the offset of each segment, and the end of the last one, in `offsets` on the device;
// returns their address. Lengths that are negative or do not add up to `entries` are reported
// (checked_indices.h).
inline const int64_t* ScanLengths(const Tensor& lengths, int64_t entries, Tensor* offsets,
                                  CUDAContext* context) {
  const RowIndices list = IntegersOf(lengths, 0, "lengths");
  *offsets = Tensor(context->device());
  offsets->Resize(list.n + 1);
  auto* data = offsets->mutable_data<int64_t>();
  LaunchOffsets(list.n, list.data, list.is_int64, entries, data, context->report(),
                context->stream());
  return data;
}

}  // namespace caffe2

// Copies slices on CUDA devices, for Concat and Split.
#pragma once

#include <algorithm>
#include <limits>

#include "caffe2/cuda/context_cuda.h"
#include "operators/shape/concat_split.h"

namespace caffe2 {

// The most bytes from one row to the next in a copy of rows (memPitch in cudaDeviceProp).
constexpr int64_t kMaxPitch = std::numeric_limits<int32_t>::max();

// Copies all runs at once or, if they are more than kMaxPitch apart, one by one: then there are few
// runs.
template <>
inline void CopySlab(TypeMeta meta, int64_t outer, int64_t run, const void* source,
                     int64_t source_stride, void* destination, int64_t destination_stride,
                     CUDAContext* context) {
  if (outer == 0 || run == 0) return;
  const auto size = static_cast<int64_t>(meta.itemsize());
  const int64_t from_pitch = source_stride * size, to_pitch = destination_stride * size;
  if (outer > 1 && std::max(from_pitch, to_pitch) <= kMaxPitch) {
    cuda::CopyRowsAsync(destination, to_pitch, source, from_pitch, run * size, outer,
                        context->stream());
    return;
  }
  for (int64_t i = 0; i < outer; ++i) {
    context->CopyBytes(run * size, static_cast<const char*>(source) + i * from_pitch,
                       static_cast<char*>(destination) + i * to_pitch);
  }
}

}  // namespace caffe2

// Runs the functors of host_device.h on CUDA devices, on the stream of the context. Each functor
// needs a kernel: INSTANTIATE_FOR_EACH, INSTANTIATE_FOR_EACH_ROW or INSTANTIATE_MAP in a .cu file
// (host_device_kernel.h).
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/common/copy_elements.h"
#include "operators/common/host_device_launch.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {

template <class F>
void ForEach(int64_t n, const F& f, CUDAContext* context) {
  LaunchForEach(n, f, context->stream());
}
template <class F, typename R, typename... T>
void MapElements(const F& f, int64_t n, CUDAContext* context, R* y, const T*... x) {
  LaunchMap(f, n, context->stream(), y, x...);
}
template <class F>
void ForEachRow(int64_t rows, int64_t width, const F& f, CUDAContext* context) {
  LaunchForEachRow(rows, width, f, context->stream());
}

// As on the host (copy_elements.h).
template <>
inline void ClearBytes(size_t nbytes, void* data, CUDAContext* context) {
  if (nbytes > 0) cuda::SetBytesAsync(data, 0, nbytes, context->stream());
}

}  // namespace caffe2

// Launchers of the functors of portable.h, which a .cu file makes (portable_kernel.h).
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

template <class F>
void LaunchForEach(int64_t n, const F& f, cuda::Stream stream);
template <class F>
void LaunchForEachRow(int64_t rows, int64_t width, const F& f, cuda::Stream stream);

}  // namespace caffe2

// Launchers of the functors of host_device.h. A .cu file instantiates them (host_device_kernel.h).
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// f(i) for each i in [0, n).
template <class F>
void LaunchForEach(int64_t n, const F& f, cuda::Stream stream);
// y[i] = f(x[i]...) of widened numbers. f.kName names the kernel. Loads and stores 16 bytes at a
// time if all arrays are aligned for it.
template <class F, typename R, typename... T>
void LaunchMap(const F& f, int64_t n, cuda::Stream stream, R* y, const T*... x);
// f(row, team) for each row. The width of a row decides the size of its team.
template <class F>
void LaunchForEachRow(int64_t rows, int64_t width, const F& f, cuda::Stream stream);

}  // namespace caffe2

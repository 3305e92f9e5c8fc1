// Kernels of the functors of host_device.h. Only .cu files include this header; each instantiates
// the functors of its family.
#pragma once

#include "caffe2/cuda/kernel.h"
#include "operators/common/host_device.h"
#include "operators/common/host_device_launch.h"

namespace caffe2 {
namespace host_device {

// A team of a block of kBlock threads.
template <int kBlock>
struct BlockTeam {
  using Number = float;
  __device__ int64_t first() const { return threadIdx.x; }
  __device__ int64_t step() const { return kBlock; }
  __device__ bool leader() const { return threadIdx.x == 0; }
  template <typename N>
  __device__ N Sum(N value) const {
    return cuda::BlockReduce<kBlock>(value, cuda::SumOf());
  }
  template <typename N, class Op>
  __device__ N Reduce(N value, Op op) const {
    return cuda::BlockReduce<kBlock>(value, op);
  }
  __device__ void Sync() const { __syncthreads(); }
};

// One thread handles a row.
template <class F>
struct RowAlone {
  F f;
  __device__ void operator()(int64_t row) const { f(row, SoloTeam()); }
};

template <int kBlock, class F>
__global__ void ForEachRowKernel(int64_t rows, F f) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) f(row, BlockTeam<kBlock>());
}

template <int kBlock, class F>
void LaunchRows(int64_t rows, const F& f, cuda::Stream stream) {
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(rows, 1 << 20));
  cuda::Launch(F::kName, ForEachRowKernel<kBlock, F>, blocks, kBlock, stream, rows, f);
}

}  // namespace host_device

template <class F>
void LaunchForEach(int64_t n, const F& f, cuda::Stream stream) {
  cuda::ForEach(F::kName, n, stream, f);
}

template <class F, typename R, typename... T>
void LaunchMap(const F& f, int64_t n, cuda::Stream stream, R* y, const T*... x) {
  cuda::Map(F::kName, n, stream, f, y, x...);
}

template <class F>
void LaunchForEachRow(int64_t rows, int64_t width, const F& f, cuda::Stream stream) {
  if (rows == 0) return;
  if (width <= 8) {
    cuda::ForEach(F::kName, rows, stream, host_device::RowAlone<F>{f});
  } else if (width <= 256) {
    host_device::LaunchRows<cuda::kWarp>(rows, f, stream);
  } else {
    host_device::LaunchRows<cuda::kThreads>(rows, f, stream);
  }
}

// For a functor type; the _REAL versions are for a functor template, with all floating-point types.
#define INSTANTIATE_FOR_EACH(...) \
  template void LaunchForEach<__VA_ARGS__>(int64_t, const __VA_ARGS__&, cuda::Stream)
#define INSTANTIATE_FOR_EACH_ROW(...) \
  template void LaunchForEachRow<__VA_ARGS__>(int64_t, int64_t, const __VA_ARGS__&, cuda::Stream)
// For functions of one, two and three numbers.
#define INSTANTIATE_MAP(functor, T) \
  template void LaunchMap<functor, T, T>(const functor&, int64_t, cuda::Stream, T*, const T*)
#define INSTANTIATE_MAP_2(functor, T)                                                            \
  template void LaunchMap<functor, T, T, T>(const functor&, int64_t, cuda::Stream, T*, const T*, \
                                            const T*)
#define INSTANTIATE_MAP_3(functor, T)                                                     \
  template void LaunchMap<functor, T, T, T, T>(const functor&, int64_t, cuda::Stream, T*, \
                                               const T*, const T*, const T*)
// For a function whose gradient reads one saved tensor (operators/elementwise/unary_op.h).
#define INSTANTIATE_UNARY(functor, T) \
  INSTANTIATE_MAP(functor, T);        \
  INSTANTIATE_MAP_2(host_device::GradientOf<functor>, T)
#define INSTANTIATE_UNARY_REAL(functor) \
  INSTANTIATE_UNARY(functor, float);    \
  INSTANTIATE_UNARY(functor, float16);  \
  INSTANTIATE_UNARY(functor, bfloat16)
#define INSTANTIATE_FOR_EACH_REAL(functor) \
  INSTANTIATE_FOR_EACH(functor<float>);    \
  INSTANTIATE_FOR_EACH(functor<float16>);  \
  INSTANTIATE_FOR_EACH(functor<bfloat16>)
#define INSTANTIATE_FOR_EACH_ROW_REAL(functor) \
  INSTANTIATE_FOR_EACH_ROW(functor<float>);    \
  INSTANTIATE_FOR_EACH_ROW(functor<float16>);  \
  INSTANTIATE_FOR_EACH_ROW(functor<bfloat16>)

}  // namespace caffe2

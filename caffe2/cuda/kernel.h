// Shared by all .cu files: launching, conversion of 16-bit types, loops over elements, reductions
// over a block. Arithmetic on float16 and bfloat16 is done in float.
//
// Kernels are plain CUDA. So that tests can also run them on the host (tests/cuda_emulation), they
// use only static shared memory and, of the warp functions, only __shfl_xor_sync.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "caffe2/core/half.h"
#include "caffe2/cuda/runtime.h"

#ifdef __CUDACC__
#include "caffe2/cuda/launch.h"
#endif

namespace caffe2::cuda {

// The type in which kernels compute with elements of type T.
template <typename T>
using Arithmetic =
    std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

__device__ inline float Widen(bfloat16 value) {
#ifdef __CUDACC__
  return __uint_as_float(static_cast<uint32_t>(value.x) << 16);
#else
  return ToFloat(value);
#endif
}
__device__ inline float Widen(float16 value) {
#ifdef __CUDACC__
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.x));
  return result;
#else
  return ToFloat(value);
#endif
}
template <typename T>
__device__ inline T Widen(T value) {
  return value;
}

template <typename T>
__device__ inline T Narrow(Arithmetic<T> value) {
  if constexpr (std::is_same_v<T, float16>) {
#ifdef __CUDACC__
    float16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.x) : "f"(value));
    return result;
#else
    return ToFloat16(value);
#endif
  } else if constexpr (std::is_same_v<T, bfloat16>) {
#ifdef __CUDACC__
    bfloat16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.x) : "f"(value));
    return result;
#else
    return ToBFloat16(value);
#endif
  } else {
    return value;
  }
}

constexpr int kThreads = 256;     // of a block, unless there is a reason for another number
constexpr int kMaxBlocks = 2048;  // enough to fill any GPU; loops stride over the rest
constexpr int kWarp = 32;

// Number of blocks for n pieces of work. Each thread does one piece, then strides to the next.
inline int BlocksFor(int64_t n, int threads = kThreads) {
  const int64_t blocks = (n + threads - 1) / threads;
  return static_cast<int>(blocks < 1 ? 1 : blocks > kMaxBlocks ? kMaxBlocks : blocks);
}

__device__ inline int64_t GlobalThread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t GlobalThreads() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// Calls f(i) for i in [0, n).
template <class F>
__global__ void ForEachKernel(int64_t n, F f) {
  for (int64_t i = GlobalThread(); i < n; i += GlobalThreads()) f(i);
}
template <class F>
void ForEach(const char* name, int64_t n, Stream stream, F f) {
  if (n > 0) Launch(name, ForEachKernel<F>, BlocksFor(n), kThreads, stream, n, f);
}

// Neighbouring elements that one instruction reads or writes.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};

template <int N, class F, typename R, typename... T>
__device__ inline void MapPack(const F& f, Pack<R, N>* y, Pack<T, N>... x) {
  Pack<R, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.v[k] = Narrow<R>(f(Widen(x.v[k])...));
  *y = result;
}
template <int N, class F, typename R, typename... T>
__global__ void MapKernel(int64_t packs, int64_t n, F f, R* y, const T*... x) {
  for (int64_t i = GlobalThread(); i < packs; i += GlobalThreads()) {
    MapPack<N>(f, reinterpret_cast<Pack<R, N>*>(y) + i,
               reinterpret_cast<const Pack<T, N>*>(x)[i]...);
  }
  for (int64_t i = packs * N + GlobalThread(); i < n; i += GlobalThreads()) {
    y[i] = Narrow<R>(f(Widen(x[i])...));
  }
}

inline bool IsAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

// y[i] = f(x[i]...), 16 bytes at a time if all arrays are aligned to 16 bytes. y may be one of x.
template <class F, typename R, typename... T>
void Map(const char* name, int64_t n, Stream stream, F f, R* y, const T*... x) {
  if (n <= 0) return;
  constexpr size_t kMaxBytes = std::max({sizeof(R), sizeof(T)...});
  constexpr int kPack = static_cast<int>(16 / kMaxBytes);
  const int64_t packs = (IsAligned(y) && ... && IsAligned(x)) ? n / kPack : 0;
  Launch(name, MapKernel<kPack, F, R, T...>, BlocksFor(packs > 0 ? packs : n), kThreads, stream,
         packs, n, f, y, x...);
}

struct SumOf {
  static constexpr double kIdentity = 0;
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct MaxOf {
  static constexpr double kIdentity = -INFINITY;
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b > a || b != b ? b : a;  // a NaN wins
  }
};

// Combines the values of all threads of a block, in a fixed order; every thread gets the result.
// All threads must call it. kBlock: threads of the block, a multiple of 32, at most 1024.
template <int kBlock, class Op, typename T>
__device__ T BlockReduce(T value, Op op) {
  __shared__ T partial[kWarp];
  constexpr int kWarps = kBlock / kWarp;
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) {
    value = op(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  __syncthreads();  // the last use of `partial` is over
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  T result = partial[0];
#pragma unroll
  for (int w = 1; w < kWarps; ++w) result = op(result, partial[w]);
  return result;
}
template <int kBlock, typename T>
__device__ T BlockSum(T value) {
  return BlockReduce<kBlock>(value, SumOf());
}

// Reports an error to the host. Only the first report is kept until the host has read it.
__device__ inline void Report(KernelReport* report, KernelReport::Kind kind, int64_t row,
                              int label = 0, int64_t classes = 0, double value = 0) {
  if (atomicCAS(&report->kind, 0, kind) != 0) return;
  report->label = label;
  report->row = row;
  report->classes = classes;
  report->value = value;
}

}  // namespace caffe2::cuda

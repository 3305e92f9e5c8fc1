// Compiles CUDA kernels as host code, for tests without a GPU. Included before everything else in
// .cu files that the host compiler compiles.
//
// A launch runs the blocks one after another. The threads of a block are coroutines that take turns
// at barriers and shuffles, in the order of their numbers. With the environment variable
// CUDA_EMULATION_BACKWARD set, threads and blocks run in reverse order, so that a missing barrier
// changes what a thread reads. A barrier that not all threads reach throws. Built with the thread
// sanitizer it reports races (sanitizer.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>

#include "caffe2/cuda/stream.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static thread_local

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace caffe2::cuda::emulation {

struct Position {
  dim3 thread_index, block_index, block_size, grid_size;
};
extern constinit thread_local Position current_position;
// The position of the running thread.
inline Position& Current() { return current_position; }

// Throws unless CUDA allows a launch of this shape.
void CheckGrid(const char* name, dim3 grid, dim3 block);
// Runs `thread` for every thread of the grid.
void RunGrid(const char* name, dim3 grid, dim3 block, const std::function<void()>& thread);
// Throws unless the stream belongs to the calling thread's current device.
void CheckStream(const char* kernel, Stream stream);
// Does the work of a stream now, or, on a lazy stream, when somebody waits for it. While this
// thread records a graph, does it in each launch of the graph.
void Perform(Stream stream, std::function<void()> work);
// Waits for the device.
void Finish(int device);
// True if all streams are lazy: their work is done only when somebody waits for it (runtime.cc).
bool RunsAhead();
void BlockBarrier();
// Returns the value of the thread of the warp whose lane differs by the bits of `lane_mask`.
uint64_t Exchange(uint64_t value, int lane_mask);

}  // namespace caffe2::cuda::emulation

#define threadIdx (::caffe2::cuda::emulation::Current().thread_index)
#define blockIdx (::caffe2::cuda::emulation::Current().block_index)
#define blockDim (::caffe2::cuda::emulation::Current().block_size)
#define gridDim (::caffe2::cuda::emulation::Current().grid_size)

inline void __syncthreads() { ::caffe2::cuda::emulation::BlockBarrier(); }

template <typename T>
T __shfl_xor_sync(unsigned /*mask*/, T value, int lane_mask) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = ::caffe2::cuda::emulation::Exchange(bits, lane_mask);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

inline int atomicCAS(int* address, int expected, int desired) {
  __atomic_compare_exchange_n(address, &expected, desired, /*weak=*/false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
  return expected;
}

namespace caffe2::cuda {

template <typename... Parameters, typename... Arguments>
void Launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, Stream stream,
            Arguments... arguments) {
  emulation::CheckStream(name, stream);
  emulation::CheckGrid(name, grid, block);
  emulation::Perform(stream, [=] {
    emulation::RunGrid(name, grid, block, [&] { kernel(static_cast<Parameters>(arguments)...); });
  });
}

}  // namespace caffe2::cuda

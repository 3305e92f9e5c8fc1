// Kernels that compute each element of an image from it and from values of its channel
// (MapChannels), or that add up values for each channel (SumChannels, then FinishChannels). For .cu
// files.
//
// A thread handles packs of N neighbouring elements. In NHWC order the elements of a pack belong to
// the channels c to c + N - 1; in NCHW order all belong to channel c.
//
// The caller gives a struct F:
//   template <int N> struct Of              what F needs to know of the pack's channels
//   template <int N> Of<N> Begin(c, step)   reads it for the channels c, c + step, ..., once for
//                                           each thread; step is 1 in NHWC order and 0 in NCHW
//                                           order
// for MapChannels also
//   Do(const Of<N>&, i)                     handles the elements i to i + N - 1
// and for SumChannels
//   static constexpr int kSums              how many sums each channel has
//   Add(const Of<N>&, i, Sums<kSums, N>*)   adds what the elements i to i + N - 1 contribute
#pragma once

#include "caffe2/cuda/kernel.h"
#include "operators/common/channel_kernels.h"

namespace caffe2 {

// V sums of each of N neighbouring channels.
template <int V, int N>
struct Sums {
  float v[V][N];
};

// Reads or writes N neighbouring elements with one instruction.
template <int N, typename T>
__device__ inline void LoadPack(const T* from, float (&to)[N]) {
  const auto pack = *reinterpret_cast<const cuda::Pack<T, N>*>(from);
#pragma unroll
  for (int k = 0; k < N; ++k) to[k] = cuda::Widen(pack.v[k]);
}
template <int N, typename T>
__device__ inline void StorePack(const float (&from)[N], T* to) {
  cuda::Pack<T, N> pack;
#pragma unroll
  for (int k = 0; k < N; ++k) pack.v[k] = cuda::Narrow<T>(from[k]);
  *reinterpret_cast<cuda::Pack<T, N>*>(to) = pack;
}
// Reads values[c], values[c + step], ...; zeros if `values` is null.
template <int N>
__device__ inline void LoadChannels(const float* values, int64_t c, int step, float (&to)[N]) {
#pragma unroll
  for (int k = 0; k < N; ++k) to[k] = values != nullptr ? values[c + k * step] : 0.f;
}

// How blocks and threads share an image. In NHWC order an image is a matrix with a row for each
// pixel and a column for each channel: a block handles `blockDim.x` packs of columns of `per_part`
// rows. In NCHW order a block handles `per_part` packs of one channel.
struct ChannelDivision {
  dim3 grid, block;
  int64_t per_part;
};
inline ChannelDivision DivideChannels(const ChannelShape& shape, int pack, int64_t parts) {
  const int64_t count = shape.batch * shape.spatial;
  if (!shape.channels_last) {
    const int64_t per_part = (count / pack + parts - 1) / parts;
    return {dim3(static_cast<unsigned>(shape.channels), static_cast<unsigned>(parts)),
            dim3(cuda::kThreads), per_part};
  }
  const int64_t packs = shape.channels / pack;
  unsigned strip = 1;
  while (strip < cuda::kWarp && strip < packs) strip *= 2;
  return {dim3(static_cast<unsigned>((packs + strip - 1) / strip), static_cast<unsigned>(parts)),
          dim3(strip, cuda::kThreads / strip), (count + parts - 1) / parts};
}

// The first channel of the thread. It can be past the last channel.
template <int N>
__device__ inline int64_t FirstChannel(const ChannelShape& shape) {
  return shape.channels_last ? (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N
                             : static_cast<int64_t>(blockIdx.x);
}
// Calls visit(i) for each pack of the thread, where i is its first element.
template <int N, class Visit>
__device__ inline void VisitPacks(const ChannelShape& shape, int64_t c, int64_t per_part,
                                  const Visit& visit) {
  const int64_t count = shape.batch * shape.spatial / (shape.channels_last ? 1 : N);
  const int64_t begin = blockIdx.y * per_part;
  const int64_t end = begin + per_part < count ? begin + per_part : count;
  if (shape.channels_last) {
    for (int64_t row = begin + threadIdx.y; row < end; row += blockDim.y) {
      visit(row * shape.channels + c);
    }
    return;
  }
  for (int64_t pack = begin + threadIdx.x; pack < end; pack += blockDim.x) {
    const int64_t e = pack * N;
    visit((e / shape.spatial * shape.channels + c) * shape.spatial + e % shape.spatial);
  }
}

template <int N, class F>
__global__ void MapChannelsKernel(ChannelShape shape, int64_t per_part, F f) {
  const int64_t c = FirstChannel<N>(shape);
  if (c >= shape.channels) return;
  const auto of = f.template Begin<N>(c, shape.channels_last ? 1 : 0);
  VisitPacks<N>(shape, c, per_part, [&](int64_t i) { f.Do(of, i); });
}

// Writes sum v of part p of channel c to sums[(v * gridDim.y + p) * channels + c].
template <int N, class F>
__global__ void SumChannelsKernel(ChannelShape shape, int64_t per_part, F f, float* sums) {
  constexpr int kSums = F::kSums;
  __shared__ float partial[N][cuda::kThreads];
  const int64_t c = FirstChannel<N>(shape);
  Sums<kSums, N> sum{};
  if (c < shape.channels) {
    const auto of = f.template Begin<N>(c, shape.channels_last ? 1 : 0);
    VisitPacks<N>(shape, c, per_part, [&](int64_t i) { f.Add(of, i, &sum); });
  }
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int v = 0; v < kSums; ++v) {
    float* to = sums + (v * static_cast<int64_t>(gridDim.y) + blockIdx.y) * shape.channels + c;
    if (!shape.channels_last) {
      float total = 0;
#pragma unroll
      for (int k = 0; k < N; ++k) total += sum.v[v][k];
      total = cuda::BlockSum<cuda::kThreads>(total);
      if (threadIdx.x == 0) *to = total;
      continue;
    }
    __syncthreads();  // the last use of `partial` is over
#pragma unroll
    for (int k = 0; k < N; ++k) partial[k][thread] = sum.v[v][k];
    __syncthreads();
    if (threadIdx.y != 0 || c >= shape.channels) continue;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      float total = 0;
      for (unsigned lane = 0; lane < blockDim.y; ++lane) {
        total += partial[k][lane * blockDim.x + threadIdx.x];
      }
      to[k] = total;
    }
  }
}

constexpr int kFinishLanes = 32;  // of a block, at most

// Adds up the parts, in double and in a fixed order, and calls f(c, total) for each channel c:
// total[v] is its sum v.
template <int V, class F>
__global__ __launch_bounds__(cuda::kWarp* kFinishLanes) void FinishChannelsKernel(int64_t parts,
                                                                                  int64_t channels,
                                                                                  const float* sums,
                                                                                  F f) {
  __shared__ double partial[V][kFinishLanes][cuda::kWarp];
  const int64_t c = static_cast<int64_t>(blockIdx.x) * cuda::kWarp + threadIdx.x;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    double sum = 0;
    for (int64_t part = threadIdx.y; c < channels && part < parts; part += blockDim.y) {
      sum += sums[(v * parts + part) * channels + c];
    }
    partial[v][threadIdx.y][threadIdx.x] = sum;
  }
  __syncthreads();
  if (threadIdx.y != 0 || c >= channels) return;
  double total[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    total[v] = 0;
    for (unsigned lane = 0; lane < blockDim.y; ++lane) total[v] += partial[v][lane][threadIdx.x];
  }
  f(c, total);
}

// True if packs of `pack` elements never cross a row or channel and all arrays are aligned for
// them.
template <typename... P>
bool MayPack(const ChannelShape& shape, int pack, const P*... arrays) {
  const int64_t run = shape.channels_last ? shape.channels : shape.spatial;
  return run % pack == 0 && (cuda::IsAligned(arrays) && ...);
}
// The number of elements of T in 16 bytes.
template <typename T>
constexpr int kChannelPack = static_cast<int>(16 / sizeof(T));

// Calls f.Do for all elements of an image. `arrays` are the arrays of T that f reads and writes, or
// null.
template <typename T, class F, typename... P>
void MapChannels(const char* name, const ChannelShape& shape, cuda::Stream stream, const F& f,
                 const P*... arrays) {
  const int64_t count = shape.batch * shape.spatial;
  if (count == 0 || shape.channels == 0) return;
  const auto launch = [&]<int N>(std::integral_constant<int, N>) {
    const ChannelDivision one = DivideChannels(shape, N, 1);
    const int64_t rows = shape.channels_last ? one.block.y : cuda::kThreads * int64_t{N};
    const int64_t max = std::max<int64_t>(1, cuda::kMaxBlocks / one.grid.x);
    const ChannelDivision by = DivideChannels(shape, N, std::min(max, (count + rows - 1) / rows));
    cuda::Launch(name, MapChannelsKernel<N, F>, by.grid, by.block, stream, shape, by.per_part, f);
  };
  constexpr int kPack = kChannelPack<T>;
  MayPack(shape, kPack, arrays...) ? launch(std::integral_constant<int, kPack>())
                                   : launch(std::integral_constant<int, 1>());
}

// The number of parts in which SumChannels adds up a channel.
int64_t ChannelSumParts(const ChannelShape& shape);
// Calls f.Add for all elements of an image. `sums` takes F::kSums * ChannelSumParts(shape) *
// channels floats.
template <typename T, class F, typename... P>
void SumChannels(const char* name, const ChannelShape& shape, cuda::Stream stream, const F& f,
                 float* sums, const P*... arrays) {
  const auto launch = [&]<int N>(std::integral_constant<int, N>) {
    const ChannelDivision by = DivideChannels(shape, N, ChannelSumParts(shape));
    cuda::Launch(name, SumChannelsKernel<N, F>, by.grid, by.block, stream, shape, by.per_part, f,
                 sums);
  };
  constexpr int kPack = kChannelPack<T>;
  MayPack(shape, kPack, arrays...) ? launch(std::integral_constant<int, kPack>())
                                   : launch(std::integral_constant<int, 1>());
}

// Calls f(c, total) for each channel with its V sums, from the `parts` that SumChannels wrote. The
// sums are zeros if `parts` is 0.
template <int V, class F>
void FinishChannels(const char* name, int64_t channels, int64_t parts, const float* sums,
                    cuda::Stream stream, const F& f) {
  if (channels == 0) return;
  const auto blocks = static_cast<unsigned>((channels + cuda::kWarp - 1) / cuda::kWarp);
  const auto lanes = static_cast<unsigned>(std::clamp<int64_t>(parts / 8, 1, kFinishLanes));
  cuda::Launch(name, FinishChannelsKernel<V, F>, dim3(blocks), dim3(cuda::kWarp, lanes), stream,
               parts, channels, sums, f);
}

}  // namespace caffe2

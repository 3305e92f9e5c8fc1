#include "caffe2/cuda/kernel.h"
#include "operators/common/sort_keys.h"

namespace caffe2 {
namespace {

constexpr int kChunk = 2048;  // keys that a block sorts in shared memory

// Pair i of a bitonic step: two keys `stride` apart, in ascending or descending order by runs of
// `size`. Both are powers of two. `offset` is the place of keys[0] in its line of n.
__device__ inline void Exchange(uint64_t* keys, int64_t offset, int64_t n, int64_t i, int64_t size,
                                int64_t stride) {
  const int64_t a = 2 * stride * (i / stride) + i % stride, b = a + stride;
  const bool ascending = ((offset + a) & (n - 1) & size) == 0;
  if ((keys[a] > keys[b]) == ascending) {
    const uint64_t key = keys[a];
    keys[a] = keys[b];
    keys[b] = key;
  }
}

// The steps that stay within a chunk, for runs of `first` to `last`. There are `total` keys, in
// lines of n.
__global__ void SortChunkKernel(int64_t total, int64_t n, int64_t first, int64_t last,
                                uint64_t* keys) {
  __shared__ uint64_t shared[kChunk];
  const int64_t offset = static_cast<int64_t>(blockIdx.x) * kChunk;
  const int64_t count = total - offset < kChunk ? total - offset : kChunk;  // whole lines
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) shared[i] = keys[offset + i];
  for (int64_t size = first; size <= last; size *= 2) {
    for (int64_t stride = (size < kChunk ? size : kChunk) / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (int64_t i = threadIdx.x; i < count / 2; i += blockDim.x) {
        Exchange(shared, offset, n, i, size, stride);
      }
    }
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) keys[offset + i] = shared[i];
}

}  // namespace

void LaunchSortKeys(int64_t lines, int64_t n, uint64_t* keys, cuda::Stream stream) {
  const int64_t total = lines * n;
  if (total == 0) return;
  const auto chunks = static_cast<unsigned>((total + kChunk - 1) / kChunk);
  const int threads = total < 64 ? cuda::kWarp : cuda::kThreads;
  const auto sort_chunks = [=](int64_t first, int64_t last) {
    cuda::Launch("SortChunk", SortChunkKernel, chunks, threads, stream, total, n, first, last,
                 keys);
  };
  sort_chunks(2, std::min<int64_t>(n, kChunk));
  for (int64_t size = 2 * kChunk; size <= n; size *= 2) {
    for (int64_t stride = size / 2; stride >= kChunk; stride /= 2) {
      cuda::ForEach("SortStep", total / 2, stream,
                    [=] __device__(int64_t i) { Exchange(keys, 0, n, i, size, stride); });
    }
    sort_chunks(size, size);
  }
}

}  // namespace caffe2

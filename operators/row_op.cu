// Kernels of rows that are named by index.
#include "operators/portable_kernel.h"
#include "operators/row_functions.h"
#include "operators/row_kernels.h"

namespace caffe2 {
namespace {

// Index i, or -1 if it is out of range.
template <typename Index>
__device__ inline int64_t CheckedRow(const RowIndices& indices, int64_t i,
                                     cuda::KernelReport* report) {
  const int64_t row = static_cast<const Index*>(indices.data)[i];
  if (row >= 0 && row < indices.rows) return row;
  cuda::Report(report, cuda::KernelReport::kIndexOutOfRange, i, 0, indices.rows,
               static_cast<double>(row));
  return -1;
}

using Word16 = cuda::Pack<uint64_t, 2>;

template <typename Word, typename Index>
void Gather(const RowIndices& indices, int64_t outer, int64_t words, const void* x, void* y,
            cuda::KernelReport* report, cuda::Stream stream) {
  const Word* from = static_cast<const Word*>(x);
  Word* to = static_cast<Word*>(y);
  const int64_t each = indices.group > 0 ? indices.group : indices.n;
  cuda::ForEach("Gather", outer * each * words, stream, [=] __device__(int64_t at) {
    const int64_t i = at / words % each, o = at / words / each;
    const int64_t row = CheckedRow<Index>(indices, indices.group > 0 ? o * each + i : i, report);
    to[at] = row < 0 ? Word{} : from[(o * indices.rows + row) * words + at % words];
  });
}

template <typename Index>
void GatherAs(const RowIndices& indices, int64_t outer, int64_t row_bytes, const void* x, void* y,
              cuda::KernelReport* report, cuda::Stream stream) {
  const auto width = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                     static_cast<uintptr_t>(row_bytes);
  if (width % 16 == 0) {
    Gather<Word16, Index>(indices, outer, row_bytes / 16, x, y, report, stream);
  } else if (width % 4 == 0) {
    Gather<uint32_t, Index>(indices, outer, row_bytes / 4, x, y, report, stream);
  } else {
    Gather<uint8_t, Index>(indices, outer, row_bytes, x, y, report, stream);
  }
}

template <typename Index>
void MakeKeys(const RowIndices& indices, int64_t size, uint64_t* keys, cuda::KernelReport* report,
              cuda::Stream stream) {
  cuda::ForEach("MakeKeys", size, stream, [=] __device__(int64_t i) {
    int64_t row = i < indices.n ? CheckedRow<Index>(indices, i, report) : -1;
    if (row >= 0 && indices.group > 0) row += i / indices.group * indices.rows;
    keys[i] = (row < 0 ? SortedRows::kNoRow : static_cast<uint64_t>(row)) << 32 |
              static_cast<uint64_t>(i);
  });
}

constexpr int kChunk = 2048;  // keys that a block sorts in shared memory

// The pair i of a bitonic step: neighbours `stride` apart, ascending or descending by runs of
// `size`. Both are powers of two.
__device__ inline void Exchange(uint64_t* keys, int64_t offset, int64_t i, int64_t size,
                                int64_t stride) {
  const int64_t a = 2 * stride * (i / stride) + i % stride, b = a + stride;
  const bool ascending = ((offset + a) & size) == 0;
  if ((keys[a] > keys[b]) == ascending) {
    const uint64_t key = keys[a];
    keys[a] = keys[b];
    keys[b] = key;
  }
}

// For runs of `first` to `last` the steps that stay within a chunk.
__global__ void SortChunkKernel(int64_t chunk, int64_t first, int64_t last, uint64_t* keys) {
  __shared__ uint64_t shared[kChunk];
  const int64_t offset = blockIdx.x * chunk;
  for (int64_t i = threadIdx.x; i < chunk; i += blockDim.x) shared[i] = keys[offset + i];
  for (int64_t size = first; size <= last; size *= 2) {
    for (int64_t stride = (size < chunk ? size : chunk) / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (int64_t i = threadIdx.x; i < chunk / 2; i += blockDim.x) {
        Exchange(shared, offset, i, size, stride);
      }
    }
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < chunk; i += blockDim.x) keys[offset + i] = shared[i];
}

// A bitonic sort of a power of two of keys, all of which differ.
void SortKeys(int64_t n, uint64_t* keys, cuda::Stream stream) {
  const int64_t chunk = std::min<int64_t>(n, kChunk);
  const int threads = chunk < 64 ? cuda::kWarp : cuda::kThreads;
  const auto chunks = static_cast<unsigned>(n / chunk);
  cuda::Launch("SortChunk", SortChunkKernel, chunks, threads, stream, chunk, int64_t{2}, chunk,
               keys);
  for (int64_t size = 2 * chunk; size <= n; size *= 2) {
    for (int64_t stride = size / 2; stride >= chunk; stride /= 2) {
      cuda::ForEach("SortStep", n / 2, stream,
                    [=] __device__(int64_t i) { Exchange(keys, 0, i, size, stride); });
    }
    cuda::Launch("SortChunk", SortChunkKernel, chunks, threads, stream, chunk, size, size, keys);
  }
}

}  // namespace

void LaunchGatherRows(const RowIndices& indices, int64_t outer, int64_t row_bytes, const void* x,
                      void* y, cuda::KernelReport* report, cuda::Stream stream) {
  if (indices.is_int64) return GatherAs<int64_t>(indices, outer, row_bytes, x, y, report, stream);
  GatherAs<int32_t>(indices, outer, row_bytes, x, y, report, stream);
}

int64_t SortedKeysSize(int64_t n) {
  int64_t size = 2;
  while (size < n) size *= 2;
  return size;
}

void LaunchSortRows(const RowIndices& indices, uint64_t* keys, cuda::KernelReport* report,
                    cuda::Stream stream) {
  const int64_t size = SortedKeysSize(indices.n);
  if (indices.is_int64) {
    MakeKeys<int64_t>(indices, size, keys, report, stream);
  } else {
    MakeKeys<int32_t>(indices, size, keys, report, stream);
  }
  SortKeys(size, keys, stream);
}

INSTANTIATE_FOR_EACH_ROW_REAL(SumSortedRows);
INSTANTIATE_FOR_EACH_ROW(SumSortedRows<double>);
INSTANTIATE_FOR_EACH_ROW(SumSortedRows<int32_t>);
INSTANTIATE_FOR_EACH_ROW(SumSortedRows<int64_t>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<ScaleRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<AddWeightedRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<AdagradRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<RowWiseAdagradRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<AdamRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<RowWiseAdamRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<MomentumRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<FtrlRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<AdadeltaRow>);

}  // namespace caffe2

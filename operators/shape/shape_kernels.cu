// Kernels of transpositions and of Tile's gradient.
#include "caffe2/cuda/kernel.h"
#include "operators/common/host_device_kernel.h"
#include "operators/shape/tile_functions.h"
#include "operators/shape/transpose_kernels.h"

namespace caffe2 {
namespace {

constexpr int kTile = 32;
constexpr int kRows = 8;  // rows of a tile that a block reads at once

// The extra column keeps the threads of a warp in different banks.
template <typename T>
__global__ void TransposeKernel(int64_t rows, int64_t columns, int64_t tiles_across, int64_t tiles,
                                const T* x, T* y) {
  __shared__ T tile[kTile][kTile + 1];
  const int64_t offset = static_cast<int64_t>(blockIdx.y) * rows * columns;
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t row = t / tiles_across * kTile, column = t % tiles_across * kTile;
    __syncthreads();  // the last tile is written
    for (int r = threadIdx.y; r < kTile; r += kRows) {
      const int64_t i = row + r, j = column + threadIdx.x;
      if (i < rows && j < columns) tile[r][threadIdx.x] = x[offset + i * columns + j];
    }
    __syncthreads();
    for (int r = threadIdx.y; r < kTile; r += kRows) {
      const int64_t i = row + threadIdx.x, j = column + r;
      if (i < rows && j < columns) y[offset + j * rows + i] = tile[threadIdx.x][r];
    }
  }
}

template <typename T>
void Transpose(int64_t batch, int64_t rows, int64_t columns, const void* x, void* y,
               cuda::Stream stream) {
  const int64_t across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile;
  constexpr int64_t kMaxBatch = 32768;  // a limit of grids
  for (int64_t i = 0; i < batch; i += kMaxBatch) {
    const int64_t offset = i * rows * columns;
    const dim3 grid(static_cast<unsigned>(std::min<int64_t>(across * down, cuda::kMaxBlocks)),
                    static_cast<unsigned>(std::min(kMaxBatch, batch - i)));
    cuda::Launch("Transpose", TransposeKernel<T>, grid, dim3(kTile, kRows), stream, rows, columns,
                 across, across * down, static_cast<const T*>(x) + offset,
                 static_cast<T*>(y) + offset);
  }
}

__device__ inline int64_t OffsetOf(const Permutation& permutation, int64_t i) {
  int64_t offset = 0;
  for (int d = permutation.dims - 1; d >= 0; --d) {
    offset += i % permutation.size[d] * permutation.stride[d];
    i /= permutation.size[d];
  }
  return offset;
}

template <typename T>
void Permute(const Permutation& permutation, int64_t n, const void* x, void* y,
             cuda::Stream stream) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(y);
  cuda::ForEach("Permute", n, stream,
                [=] __device__(int64_t i) { to[i] = from[OffsetOf(permutation, i)]; });
}
template <typename T>
void PutPermuted(const Permutation& permutation, int64_t n, const void* x, void* y,
                 cuda::Stream stream) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(y);
  cuda::ForEach("PutPermuted", n, stream,
                [=] __device__(int64_t i) { to[OffsetOf(permutation, i)] = from[i]; });
}

}  // namespace

void LaunchTransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t itemsize,
                             const void* x, void* y, cuda::Stream stream) {
  if (batch == 0 || rows == 0 || columns == 0) return;
  switch (itemsize) {
    case 1:
      return Transpose<uint8_t>(batch, rows, columns, x, y, stream);
    case 2:
      return Transpose<uint16_t>(batch, rows, columns, x, y, stream);
    case 4:
      return Transpose<uint32_t>(batch, rows, columns, x, y, stream);
    default:
      return Transpose<uint64_t>(batch, rows, columns, x, y, stream);
  }
}

void LaunchPermute(const Permutation& permutation, int64_t n, size_t itemsize, const void* x,
                   void* y, cuda::Stream stream) {
  switch (itemsize) {
    case 1:
      return Permute<uint8_t>(permutation, n, x, y, stream);
    case 2:
      return Permute<uint16_t>(permutation, n, x, y, stream);
    case 4:
      return Permute<uint32_t>(permutation, n, x, y, stream);
    default:
      return Permute<uint64_t>(permutation, n, x, y, stream);
  }
}

void LaunchPutPermuted(const Permutation& permutation, int64_t n, size_t itemsize, const void* x,
                       void* y, cuda::Stream stream) {
  switch (itemsize) {
    case 1:
      return PutPermuted<uint8_t>(permutation, n, x, y, stream);
    case 2:
      return PutPermuted<uint16_t>(permutation, n, x, y, stream);
    case 4:
      return PutPermuted<uint32_t>(permutation, n, x, y, stream);
    default:
      return PutPermuted<uint64_t>(permutation, n, x, y, stream);
  }
}

INSTANTIATE_FOR_EACH_REAL(SumTiles);

}  // namespace caffe2

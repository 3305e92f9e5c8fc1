#include "caffe2/cuda/kernel.h"
#include "caffe2/cuda/reduction_kernels.h"

namespace caffe2::cuda {
namespace {

// A block of 32 x 8 threads sums a strip of 32 columns over a part of the rows.
constexpr int kStrip = 32;
constexpr int kLanes = 8;
constexpr int64_t kRowsPerPart = 128;  // at least, so that a part is worth a block
constexpr int64_t kMaxParts = 256;

int64_t PartsFor(int64_t rows, int64_t columns) {
  const int64_t strips = (columns + kStrip - 1) / kStrip;
  const int64_t wanted = kMaxBlocks / std::max<int64_t>(1, strips);
  return std::max<int64_t>(1,
                           std::min({wanted, kMaxParts, (rows + kRowsPerPart - 1) / kRowsPerPart}));
}

template <typename T>
__global__ void StripSumKernel(int64_t rows, int64_t columns, int64_t rows_per_part, const T* x,
                               float* sums) {
  __shared__ float partial[kLanes][kStrip];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kStrip + threadIdx.x;
  const int64_t begin = blockIdx.y * rows_per_part;
  const int64_t end = begin + rows_per_part < rows ? begin + rows_per_part : rows;
  float sum = 0;
  if (column < columns) {
    for (int64_t i = begin + threadIdx.y; i < end; i += kLanes)
      sum += Widen(x[i * columns + column]);
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int lane = 1; lane < kLanes; ++lane) sum += partial[lane][threadIdx.x];
  sums[blockIdx.y * columns + column] = sum;
}

template <Total kKind, typename T, typename A>
__global__ void PartialTotalKernel(int64_t n, const T* x, A* partial) {
  A sum = 0;
  for (int64_t i = GlobalThread(); i < n; i += GlobalThreads()) {
    const A value = static_cast<A>(Widen(x[i]));
    if constexpr (kKind == Total::kSum) sum += value;
    if constexpr (kKind == Total::kSquareSum) sum += value * value;
    if constexpr (kKind == Total::kAbsSum) sum += value < A(0) ? -value : value;
  }
  sum = BlockSum<kThreads>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
template <typename T, typename A>
__global__ void FinishTotalKernel(int parts, const A* partial, double scale, T* result) {
  A sum = 0;
  for (int i = threadIdx.x; i < parts; i += kThreads) sum += partial[i];
  sum = BlockSum<kThreads>(sum);
  if (threadIdx.x != 0) return;
  if constexpr (std::is_integral_v<A>) {
    *result = static_cast<T>(scale == 1 ? sum : static_cast<A>(scale * static_cast<double>(sum)));
  } else {
    *result = Narrow<T>(static_cast<Arithmetic<T>>(scale * sum));
  }
}

template <Total kKind, typename T>
void LaunchTotalOf(int64_t n, const T* x, double scale, void* scratch, T* result, Stream stream) {
  using A = std::conditional_t<std::is_integral_v<T>, T, double>;
  const int parts = std::min<int>(BlocksFor(n), kTotalScratch);
  Launch("PartialTotal", PartialTotalKernel<kKind, T, A>, parts, kThreads, stream, n, x,
         static_cast<A*>(scratch));
  Launch("FinishTotal", FinishTotalKernel<T, A>, 1, kThreads, stream, parts,
         static_cast<const A*>(scratch), scale, result);
}

}  // namespace

int64_t ColumnSumScratch(int64_t rows, int64_t columns) {
  return PartsFor(rows, columns) * columns;
}

template <typename T>
void LaunchColumnSums(int64_t rows, int64_t columns, const T* x, float* scratch, T* sums,
                      Stream stream) {
  if (columns == 0) return;
  const int64_t parts = PartsFor(rows, columns);
  const auto strips = static_cast<unsigned>((columns + kStrip - 1) / kStrip);
  Launch("StripSum", StripSumKernel<T>, dim3(strips, static_cast<unsigned>(parts)),
         dim3(kStrip, kLanes), stream, rows, columns, (rows + parts - 1) / parts, x, scratch);
  ForEach("AddParts", columns, stream, [=] __device__(int64_t j) {
    float sum = 0;
    for (int64_t part = 0; part < parts; ++part) sum += scratch[part * columns + j];
    sums[j] = Narrow<T>(sum);
  });
}

template <typename T>
void LaunchRepeatRow(int64_t rows, int64_t columns, const T* row, T* y, Stream stream) {
  ForEach("RepeatRow", rows * columns, stream,
          [=] __device__(int64_t i) { y[i] = row[i % columns]; });
}

template <typename T>
void LaunchTotal(Total kind, int64_t n, const T* x, double scale, void* scratch, T* result,
                 Stream stream) {
  switch (kind) {
    case Total::kSum:
      return LaunchTotalOf<Total::kSum>(n, x, scale, scratch, result, stream);
    case Total::kSquareSum:
      return LaunchTotalOf<Total::kSquareSum>(n, x, scale, scratch, result, stream);
    case Total::kAbsSum:
      return LaunchTotalOf<Total::kAbsSum>(n, x, scale, scratch, result, stream);
  }
}

#define INSTANTIATE(T)                                                               \
  template void LaunchColumnSums<T>(int64_t, int64_t, const T*, float*, T*, Stream); \
  template void LaunchRepeatRow<T>(int64_t, int64_t, const T*, T*, Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);
#define INSTANTIATE_TOTAL(T) \
  template void LaunchTotal<T>(Total, int64_t, const T*, double, void*, T*, Stream)
INSTANTIATE_TOTAL(float);
INSTANTIATE_TOTAL(double);
INSTANTIATE_TOTAL(float16);
INSTANTIATE_TOTAL(bfloat16);
INSTANTIATE_TOTAL(int32_t);
INSTANTIATE_TOTAL(int64_t);

}  // namespace caffe2::cuda

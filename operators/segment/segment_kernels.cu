// Kernels of segments.
#include "operators/common/host_device_kernel.h"
#include "operators/segment/segment_functions.h"
#include "operators/segment/segment_range_functions.h"
#include "operators/segment/tensor_train_functions.h"

namespace caffe2 {
namespace {

constexpr int kScanThreads = 1024;

// Each thread adds up a run of lengths. Then the sums of earlier runs are added to its offsets.
template <typename Length>
__global__ void OffsetsKernel(int64_t n, const Length* lengths, int64_t entries, int64_t* offsets,
                              cuda::KernelReport* report) {
  __shared__ int64_t sums[kScanThreads];
  const int64_t run = (n + blockDim.x - 1) / blockDim.x;
  const int64_t begin = std::min<int64_t>(n, threadIdx.x * run), end = std::min(n, begin + run);
  int64_t sum = 0;
  int64_t negative = -1;
  for (int64_t i = begin; i < end; ++i) {
    if (lengths[i] < 0 && negative < 0) negative = i;
    sum += lengths[i];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  int64_t offset = 0, total = 0;
  for (unsigned t = 0; t < blockDim.x; ++t) {
    if (t == threadIdx.x) offset = total;
    total += sums[t];
  }
  if (negative >= 0) {
    cuda::Report(report, cuda::KernelReport::kLengths, negative, -1);
  } else if (threadIdx.x == 0 && total != entries) {
    cuda::Report(report, cuda::KernelReport::kLengths, total, 0, entries);
  }
  for (int64_t i = begin; i < end; ++i) {
    offsets[i] = offset < 0 ? 0 : std::min(offset, entries);
    offset += lengths[i];
  }
  if (threadIdx.x == 0) offsets[n] = total < 0 ? 0 : std::min(total, entries);
}

template <typename Length>
void Offsets(int64_t n, const void* lengths, int64_t entries, int64_t* offsets,
             cuda::KernelReport* report, cuda::Stream stream) {
  const int threads = n <= cuda::kWarp ? cuda::kWarp : kScanThreads;
  cuda::Launch("Offsets", OffsetsKernel<Length>, 1, threads, stream, n,
               static_cast<const Length*>(lengths), entries, offsets, report);
}

template <typename Index>
void CheckIndicesOf(const RowIndices& indices, cuda::KernelReport* report, cuda::Stream stream) {
  cuda::ForEach("CheckIndices", indices.n, stream, [=] __device__(int64_t i) {
    const int64_t row = static_cast<const Index*>(indices.data)[i];
    if (row >= 0 && row < indices.rows) return;
    cuda::Report(report, cuda::KernelReport::kIndexOutOfRange, i, 0, indices.rows,
                 static_cast<double>(row));
  });
}

}  // namespace

void LaunchOffsets(int64_t n, const void* lengths, bool is_int64, int64_t entries, int64_t* offsets,
                   cuda::KernelReport* report, cuda::Stream stream) {
  if (is_int64) return Offsets<int64_t>(n, lengths, entries, offsets, report, stream);
  Offsets<int32_t>(n, lengths, entries, offsets, report, stream);
}

void LaunchCheckIndices(const RowIndices& indices, cuda::KernelReport* report,
                        cuda::Stream stream) {
  if (indices.is_int64) return CheckIndicesOf<int64_t>(indices, report, stream);
  CheckIndicesOf<int32_t>(indices, report, stream);
}

INSTANTIATE_FOR_EACH_ROW_REAL(ReduceSegments);
INSTANTIATE_FOR_EACH_ROW(SegmentGradient);
INSTANTIATE_FOR_EACH_ROW(IdGradient);
INSTANTIATE_FOR_EACH_ROW(SegmentWeightGradient);
INSTANTIATE_FOR_EACH_ROW(TensorTrainRows);
INSTANTIATE_FOR_EACH_ROW(TensorTrainSums);
INSTANTIATE_FOR_EACH(TensorTrainPlaces);
INSTANTIATE_FOR_EACH_ROW(GradientOfProducts);
INSTANTIATE_FOR_EACH_ROW(TensorTrainGradient);

#define INSTANTIATE_RANGE(reducer)                             \
  INSTANTIATE_FOR_EACH(RangeReduction<RangeReducer::reducer>); \
  INSTANTIATE_FOR_EACH_ROW(RangeGradient<RangeReducer::reducer>)
INSTANTIATE_RANGE(kSum);
INSTANTIATE_RANGE(kMean);
INSTANTIATE_RANGE(kMax);
INSTANTIATE_RANGE(kLogSumExp);
INSTANTIATE_RANGE(kLogMeanExp);

}  // namespace caffe2

#include "caffe2/cuda/kernel.h"
#include "caffe2/cuda/kernel_reports.h"
#include "operators/sparse/picked_rows_kernels.h"

namespace caffe2 {
namespace {

using Word16 = cuda::Pack<uint64_t, 2>;

__device__ inline int64_t IndexAt(const RowIndices& indices, int64_t i) {
  return indices.is_int64 ? static_cast<const int64_t*>(indices.data)[i]
                          : static_cast<const int32_t*>(indices.data)[i];
}

template <typename Word>
__device__ inline Word FillOf(uint64_t fill) {
  if constexpr (sizeof(Word) == 16) {
    return {{fill, fill}};
  } else {
    return static_cast<Word>(fill);
  }
}

template <typename Word>
void PickAs(int64_t n, const int64_t* rows, int64_t row_bytes, uint64_t fill, const void* x,
            void* y, cuda::Stream stream) {
  const auto words = row_bytes / static_cast<int64_t>(sizeof(Word));
  const Word* from = static_cast<const Word*>(x);
  Word* to = static_cast<Word*>(y);
  cuda::ForEach("PickRows", n * words, stream, [=] __device__(int64_t at) {
    const int64_t row = rows[at / words];
    to[at] = row >= 0          ? from[row * words + at % words]
             : row == kZeroRow ? Word{}
                               : FillOf<Word>(fill);
  });
}

}  // namespace

void LaunchPickRows(int64_t n, const int64_t* rows, int64_t row_bytes, uint64_t fill, const void* x,
                    void* y, cuda::Stream stream) {
  const auto width = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                     static_cast<uintptr_t>(row_bytes);
  if (row_bytes == 0) return;
  if (width % 16 == 0) {
    PickAs<Word16>(n, rows, row_bytes, fill, x, y, stream);
  } else if (width % 8 == 0) {
    PickAs<uint64_t>(n, rows, row_bytes, fill, x, y, stream);
  } else if (width % 4 == 0) {
    PickAs<uint32_t>(n, rows, row_bytes, fill, x, y, stream);
  } else {
    PickAs<uint8_t>(n, rows, row_bytes, fill, x, y, stream);
  }
}

void LaunchListSegments(int64_t n, const int64_t* offsets, int64_t length, int64_t other, bool cut,
                        int64_t* rows, bool* present, cuda::KernelReport* report,
                        cuda::Stream stream) {
  const int64_t looks = std::max<int64_t>(length, 1);  // at each segment, even for no rows of it
  cuda::ForEach("ListSegments", n * looks, stream, [=] __device__(int64_t i) {
    const int64_t s = i / looks, t = i % looks;
    const int64_t entries = offsets[s + 1] - offsets[s];
    if (!cut && t == 0 && entries > length) {
      cuda::Report(report, cuda::kRowListReport, s, kSegmentTooLong, length,
                   static_cast<double>(entries));
    }
    if (t >= length) return;
    rows[i] = t < entries ? offsets[s] + t : other;
    if (present != nullptr) present[i] = t < entries;
  });
}

void LaunchListReversed(const RowIndices& lengths, int64_t steps, int64_t batch, int64_t* rows,
                        cuda::KernelReport* report, cuda::Stream stream) {
  cuda::ForEach("ListReversed", steps * batch, stream, [=] __device__(int64_t i) {
    const int64_t t = i / batch, b = i % batch, length = IndexAt(lengths, b);
    const bool fits = length >= 0 && length <= steps;
    if (!fits && t == 0) {
      cuda::Report(report, cuda::kRowListReport, b, kSequenceLength, steps,
                   static_cast<double>(length));
    }
    rows[i] = fits && t < length ? (length - 1 - t) * batch + b : i;
  });
}

void LaunchListPermutation(const RowIndices& indices, int64_t* forward, int64_t* inverse,
                           cuda::KernelReport* report, cuda::Stream stream) {
  const int64_t n = indices.n;
  if (n == 0) return;
  cuda::SetBytesAsync(inverse, 0, n * sizeof(int64_t), stream);
  cuda::ForEach("ListPermutation", n, stream, [=] __device__(int64_t i) {
    const int64_t row = IndexAt(indices, i);
    const bool found = row >= 0 && row < n;
    if (!found) {
      cuda::Report(report, cuda::KernelReport::kIndexOutOfRange, i, 0, n, static_cast<double>(row));
    }
    forward[i] = found ? row : 0;
    if (found) inverse[row] = i;
  });
  // If several indices name a row, one of them was written last.
  cuda::ForEach("CheckPermutation", n, stream, [=] __device__(int64_t i) {
    const int64_t row = forward[i];
    if (inverse[row] != i) cuda::Report(report, cuda::kRowListReport, row, kRepeatedRow);
  });
}

}  // namespace caffe2

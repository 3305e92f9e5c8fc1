#include "caffe2/cuda/kernel.h"
#include "operators/picked_rows_kernels.h"

namespace caffe2 {
namespace {

using Word16 = cuda::Pack<uint64_t, 2>;

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

}  // namespace caffe2

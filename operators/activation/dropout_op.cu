#include "operators/activation/dropout_functions.h"
#include "operators/activation/dropout_kernels.h"
#include "operators/common/host_device_kernel.h"

namespace caffe2 {
namespace {

using cuda::Narrow;
using cuda::Widen;

struct RandomBlock {
  uint32_t word[4];
};
// Block `index` of the Philox 4x32-10 stream of the seed, as RandomGenerator::FillBlock.
__device__ inline RandomBlock Philox(uint64_t seed, uint64_t index) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32);
  uint32_t c2 = 0, c3 = 0;
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMultiplier0) * c0;
    const uint64_t p1 = static_cast<uint64_t>(kMultiplier1) * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace

template <typename T>
void LaunchDropout(int64_t n, const T* x, const RandomPlace& place, uint64_t bound, float scale,
                   bool* keep, T* y, cuda::Stream stream) {
  // A turn handles one block of random words: four elements, or fewer at both ends of the array.
  const RandomPlace from = place;
  const KeptElement value{scale};
  const int64_t blocks = n == 0 ? 0 : (n + 3 + 3) / 4;
  cuda::ForEach("Dropout", blocks, stream, [=] __device__(int64_t b) {
    const uint64_t position = from.address != nullptr ? *from.address : from.position;
    const uint64_t first = position / 4;
    const RandomBlock random = Philox(from.seed, first + b);
    for (int k = 0; k < 4; ++k) {
      const int64_t i = static_cast<int64_t>((first + b) * 4 + k - position);
      if (i < 0 || i >= n) continue;
      const bool kept = random.word[k] >= bound;
      keep[i] = kept;
      y[i] = Narrow<T>(value(Widen(x[i]), kept));
    }
  });
}

#define INSTANTIATE(T)                                                                          \
  template void LaunchDropout<T>(int64_t, const T*, const RandomPlace&, uint64_t, float, bool*, \
                                 T*, cuda::Stream);                                             \
  template void LaunchMap(const KeptElement&, int64_t, cuda::Stream, T*, const T*, const bool*)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2

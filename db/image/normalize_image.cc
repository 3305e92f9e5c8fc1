#include "db/image/normalize_image.h"

#include <cstring>
#include <type_traits>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/simd.h"

namespace caffe2::db {
namespace {

CAFFE2_SIMD_CLONES
void NormalizeRow(const uint8_t* in, const float* mean, const float* std, int n, float* out) {
  for (int i = 0; i < n; ++i) out[i] = (static_cast<float>(in[i]) - mean[i]) / std[i];
}

// The bytes of `width` pixels, `step` apart, of kChannels channels. Steps that the compiler knows
// make vectors.
template <int kChannels, int kStep>
CAFFE2_INLINE void GatherSteps(const uint8_t* in, int64_t step, int64_t channel_stride, int width,
                               uint8_t* to) {
  for (int64_t x = 0; x < width; ++x) {
    for (int c = 0; c < kChannels; ++c) {
      to[kChannels * x + c] = in[(kStep != 0 ? kStep : step) * x + c * channel_stride];
    }
  }
}

// The bytes of `width` pixels of three channels from right to left: five pixels at once.
CAFFE2_INLINE void GatherMirrored(const uint8_t* in, int width, uint8_t* to) {
  using Bytes = uint8_t __attribute__((vector_size(16)));
  constexpr Bytes kReversed = {13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0};
  int x = 0;
  // The byte that is too much, to the left of the five, is one of the next pixel.
  for (; x + 5 < width; x += 5) {
    Bytes pixels;
    std::memcpy(&pixels, in - 3 * (x + 4) - 1, sizeof(pixels));
    pixels = __builtin_shuffle(pixels, kReversed);
    std::memcpy(to + 3 * x, &pixels, sizeof(pixels));
  }
  for (; x < width; ++x) std::memcpy(to + 3 * x, in - 3 * x, 3);
}

template <int kChannels>
CAFFE2_INLINE void GatherChannels(const uint8_t* in, int64_t step, int64_t channel_stride,
                                  int width, uint8_t* to) {
  switch (step) {
    case 1:
      return GatherSteps<kChannels, 1>(in, step, channel_stride, width, to);
    case -1:
      return GatherSteps<kChannels, -1>(in, step, channel_stride, width, to);
    case 3:
      return GatherSteps<kChannels, 3>(in, step, channel_stride, width, to);
    case -3:
      return GatherSteps<kChannels, -3>(in, step, channel_stride, width, to);
    default:
      return GatherSteps<kChannels, 0>(in, step, channel_stride, width, to);
  }
}

CAFFE2_SIMD_CLONES
void GatherOneChannel(const uint8_t* in, int64_t step, int width, uint8_t* to) {
  GatherChannels<1>(in, step, 0, width, to);
}
CAFFE2_SIMD_CLONES
void GatherThreeChannels(const uint8_t* in, int64_t step, int64_t channel_stride, int width,
                         uint8_t* to) {
  if (channel_stride == 1 && step == -3) return GatherMirrored(in, width, to);
  if (channel_stride == 1) return GatherChannels<3>(in, step, 1, width, to);
  GatherChannels<3>(in, step, channel_stride, width, to);
}

// Channels [c, c + channels) of row y, interleaved. They are in `buffer`, unless the image already
// has them so. `channels` is 1 or 3.
const uint8_t* ReadRow(const ImageView<uint8_t>& image, int y, int c, int channels, bool mirror,
                       uint8_t* buffer) {
  const uint8_t* in = image.At(y, mirror ? image.width - 1 : 0, c);
  const int64_t step = mirror ? -image.column_stride : image.column_stride;
  if (step == channels && (channels == 1 || image.channel_stride == 1)) return in;
  if (channels == 1) {
    GatherOneChannel(in, step, image.width, buffer);
  } else {
    GatherThreeChannels(in, step, image.channel_stride, image.width, buffer);
  }
  return buffer;
}

}  // namespace

template <typename T>
void NormalizeImage(const ImageView<uint8_t>& image, bool mirror, bool channels_first,
                    const float* mean, const float* std, T* output) {
  // A row of the image is so many rows of the output, each of n elements.
  const int parts = channels_first ? image.channels : 1, channels = image.channels / parts;
  const int n = image.width * channels;
  thread_local std::vector<uint8_t> bytes;
  thread_local std::vector<float> floats;
  bytes.resize(static_cast<size_t>(n));
  floats.resize(static_cast<size_t>(n));
  for (int part = 0; part < parts; ++part, mean += n, std += n) {
    for (int y = 0; y < image.height; ++y, output += n) {
      const uint8_t* row = ReadRow(image, y, part, channels, mirror, bytes.data());
      if constexpr (std::is_same_v<T, float>) {
        NormalizeRow(row, mean, std, n, output);
      } else {
        NormalizeRow(row, mean, std, n, floats.data());
        NarrowRow(n, floats.data(), output);
      }
    }
  }
}

template void NormalizeImage(const ImageView<uint8_t>&, bool, bool, const float*, const float*,
                             float*);
template void NormalizeImage(const ImageView<uint8_t>&, bool, bool, const float*, const float*,
                             float16*);
template void NormalizeImage(const ImageView<uint8_t>&, bool, bool, const float*, const float*,
                             bfloat16*);

}  // namespace caffe2::db

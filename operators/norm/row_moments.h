// Sums over rows and over the channels of an image of float or bfloat16, computed in double. Shared
// by the normalizations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"
#include "operators/common/host_device.h"

namespace caffe2 {

struct RowMoments {
  double mean = 0;
  double variance = 0;  // the mean square distance from the mean
};

// The moments of n values; zeros if n is 0. Two passes, so that a large mean does not make the
// variance inexact.
template <typename T>
RowMoments MomentsOf(int64_t n, const T* x) {
  const host_device::SoloTeam team;
  const auto count = static_cast<double>(std::max<int64_t>(1, n));
  const double mean = host_device::SumOver(team, n, [x](int64_t i) { return Widen(x[i]); }) / count;
  const double squares = host_device::SumOver(team, n, [x, mean](int64_t i) {
    const double distance = Widen(x[i]) - mean;
    return distance * distance;
  });
  return {mean, squares / count};
}

// Sums of n values of a and of their products with b.
struct RowDots {
  double sum = 0;  // of a
  double dot = 0;  // of a * b
};

template <typename T>
RowDots DotsOf(int64_t n, const T* a, const T* b) {
  const host_device::SoloTeam team;
  return {host_device::SumOver(team, n, [a](int64_t i) { return Widen(a[i]); }),
          host_device::SumOver(team, n,
                               [a, b](int64_t i) { return double{Widen(a[i])} * Widen(b[i]); })};
}

// `count` channels of one image. Element i of channel c lies at c * channel_stride + i * stride;
// one of the strides is 1. If channels are last, loops run along the channels of a pixel.
struct ChannelBlock {
  int64_t count = 0, size = 0, channel_stride = 0, stride = 0;

  ChannelBlock Part(int64_t first, int64_t channels) const {
    return {std::min(channels, count - first), size, channel_stride, stride};
  }
};

// Calls visit(part, first channel, block) for blocks of a multiple of `depth` channels, in
// parallel. `all` holds the channels of an image, and a part is one of `images` images (parts =
// images) or all of them (parts = 1).
template <class Visit>
void ForEachChannelBlock(const ChannelBlock& all, int64_t depth, int64_t images, int64_t parts,
                         const Visit& visit) {
  if (all.count == 0 || parts == 0) return;
  constexpr int64_t kElements = 4096;  // of an image
  // Channels of a pixel, if they are last: a cache line of floats, or more if there are blocks
  // enough for many threads.
  const int64_t run = parts * all.count >= 512 ? 64 : 16;
  const int64_t wanted = all.stride == 1 ? kElements / std::max<int64_t>(1, all.size) : run;
  const int64_t count = std::max<int64_t>(1, wanted / depth) * depth;
  const int64_t blocks = (all.count + count - 1) / count;
  const int64_t grain = RowGrain(count * all.size * (images / parts));
  ParallelFor(parts * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t first = k % blocks * count;
      visit(k / blocks, first, all.Part(first, count));
    }
  });
}

// sum[c] += the sum of channel c of x. Channels must be last, as in the next two.
template <typename T>
CAFFE2_SIMD_CLONES void AddPixels(const ChannelBlock& block, const T* x, double* sum) {
  for (int64_t i = 0; i < block.size; ++i) {
#pragma omp simd
    for (int64_t c = 0; c < block.count; ++c) sum[c] += Widen(x[i * block.stride + c]);
  }
}
// squares[c] += the sum of (x - mean[c])^2 over channel c
template <typename T>
CAFFE2_SIMD_CLONES void AddSquareDistances(const ChannelBlock& block, const T* x,
                                           const double* mean, double* squares) {
  for (int64_t i = 0; i < block.size; ++i) {
#pragma omp simd
    for (int64_t c = 0; c < block.count; ++c) {
      const double distance = Widen(x[i * block.stride + c]) - mean[c];
      squares[c] += distance * distance;
    }
  }
}
// dot[c] += the sum of a * b over channel c
template <typename T>
CAFFE2_SIMD_CLONES void AddProducts(const ChannelBlock& block, const T* a, const T* b,
                                    double* dot) {
  for (int64_t i = 0; i < block.size; ++i) {
#pragma omp simd
    for (int64_t c = 0; c < block.count; ++c) {
      dot[c] += double{Widen(a[i * block.stride + c])} * Widen(b[i * block.stride + c]);
    }
  }
}

// The moments of each channel.
template <typename T>
std::vector<RowMoments> MomentsOfChannels(const ChannelBlock& block, const T* x) {
  std::vector<RowMoments> moments(block.count);
  if (block.stride == 1) {
    for (int64_t c = 0; c < block.count; ++c) {
      moments[c] = MomentsOf(block.size, x + c * block.channel_stride);
    }
    return moments;
  }
  const auto size = static_cast<double>(std::max<int64_t>(1, block.size));
  std::vector<double> mean(block.count), squares(block.count);
  AddPixels(block, x, mean.data());
  for (double& value : mean) value /= size;
  AddSquareDistances(block, x, mean.data(), squares.data());
  for (int64_t c = 0; c < block.count; ++c) moments[c] = {mean[c], squares[c] / size};
  return moments;
}

// DotsOf each channel.
template <typename T>
std::vector<RowDots> DotsOfChannels(const ChannelBlock& block, const T* a, const T* b) {
  std::vector<RowDots> dots(block.count);
  if (block.stride == 1) {
    for (int64_t c = 0; c < block.count; ++c) {
      dots[c] = DotsOf(block.size, a + c * block.channel_stride, b + c * block.channel_stride);
    }
    return dots;
  }
  std::vector<double> sum(block.count), dot(block.count);
  AddPixels(block, a, sum.data());
  AddProducts(block, a, b, dot.data());
  for (int64_t c = 0; c < block.count; ++c) dots[c] = {sum[c], dot[c]};
  return dots;
}

// y = (x - mean) * inverse * scale + bias; one of each for each channel.
template <typename T>
CAFFE2_SIMD_CLONES void NormalizeBlock(const ChannelBlock& block, const T* x, const float* mean,
                                       const float* inverse, const float* scale, const float* bias,
                                       T* y) {
  const int64_t count = block.count, size = block.size, stride = block.stride;
  if (stride == 1) {
    for (int64_t c = 0; c < count; ++c) {
      const float m = mean[c], r = inverse[c], s = scale[c], b = bias[c];
      const T* from = x + c * block.channel_stride;
      T* to = y + c * block.channel_stride;
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) Store((Widen(from[i]) - m) * r * s + b, to + i);
    }
    return;
  }
  for (int64_t i = 0; i < size; ++i) {
    const T* from = x + i * stride;
    T* to = y + i * stride;
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
      Store((Widen(from[c]) - mean[c]) * inverse[c] * scale[c] + bias[c], to + c);
    }
  }
}

// What the gradient of a normalization takes from each channel.
struct NormGradientFactors {
  float mean, inverse;  // of x
  float gamma, mean_dy, mean_product, outer;

  CAFFE2_INLINE float Of(float x, float dy) const {
    const float z = (x - mean) * inverse;
    return outer * (gamma * dy - mean_dy - z * mean_product);
  }
};

// dx = factors.Of(x, dy), with one of the factors for each channel.
template <typename T>
CAFFE2_SIMD_CLONES void NormalizeBlockGradient(const ChannelBlock& block, const T* x, const T* dy,
                                               const NormGradientFactors* factors, T* dx) {
  if (block.stride == 1) {
    for (int64_t c = 0; c < block.count; ++c) {
      const NormGradientFactors f = factors[c];
      const int64_t at = c * block.channel_stride;
#pragma omp simd
      for (int64_t i = at; i < at + block.size; ++i) {
        Store(f.Of(Widen(x[i]), Widen(dy[i])), dx + i);
      }
    }
    return;
  }
  for (int64_t i = 0; i < block.size; ++i) {
    const int64_t at = i * block.stride;
#pragma omp simd
    for (int64_t c = 0; c < block.count; ++c) {
      Store(factors[c].Of(Widen(x[at + c]), Widen(dy[at + c])), dx + at + c);
    }
  }
}

}  // namespace caffe2

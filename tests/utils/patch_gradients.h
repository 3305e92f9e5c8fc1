// Gradients of filters over patches of random images, beside sums of products in double.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe2/core/random.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/onednn_conv_matmul.h"

namespace caffe2::testing {

// The image and the kernel are squares; the padding is half of the kernel.
struct PatchCase {
  int64_t images, size, channels, filters, kernel, stride;
};

template <typename T>
onednn::ConvProblem PatchProblem(const PatchCase& c) {
  const int64_t out = (c.size + c.kernel / 2 * 2 - c.kernel) / c.stride + 1;
  onednn::ConvProblem problem;
  problem.src = {c.images, c.channels, c.size, c.size};
  problem.filter = {c.filters, c.channels, c.kernel, c.kernel};
  problem.dst = {c.images, c.filters, out, out};
  problem.stride = {c.stride, c.stride};
  problem.dilation = {1, 1};
  problem.pad_begin = {c.kernel / 2, c.kernel / 2};
  problem.channels_last = true;
  problem.type = TypeMeta::Make<T>();
  problem.filter_type = TypeMeta::Make<float>();
  return problem;
}

template <typename T>
std::vector<T> PatchNumbers(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<T> numbers(n);
  for (T& x : numbers) Store(random.Uniform() - 0.5f, &x);
  return numbers;
}

// `run(patches, images, gradients, d filter)` computes the gradient, for images of T.
template <typename T, typename Run>
std::vector<float> PatchGradient(const PatchCase& c, const Run& run) {
  const onednn::ConvProblem p = PatchProblem<T>(c);
  const auto src = PatchNumbers<T>(c.images * c.size * c.size * c.channels, 1);
  const auto d_dst = PatchNumbers<T>(c.images * p.dst[2] * p.dst[2] * c.filters, 2);
  // What is there before does not matter.
  std::vector<float> d_filter(c.filters * c.kernel * c.kernel * c.channels, 1e9f);
  run(onednn::ImagePatches(p, sizeof(T)), src.data(), d_dst.data(), d_filter.data());
  return d_filter;
}

// The same by plain loops.
template <typename T>
std::vector<double> ExpectedPatchGradient(const PatchCase& c) {
  const int64_t out = PatchProblem<T>(c).dst[2], k = c.kernel;
  const auto src = PatchNumbers<T>(c.images * c.size * c.size * c.channels, 1);
  const auto d_dst = PatchNumbers<T>(c.images * out * out * c.filters, 2);
  std::vector<double> expected(c.filters * k * k * c.channels);
  for (int64_t row = 0; row < c.images * out * out; ++row) {
    for (int64_t tap = 0; tap < k * k; ++tap) {
      const int64_t y = row % (out * out) / out * c.stride - k / 2 + tap / k;
      const int64_t x = row % out * c.stride - k / 2 + tap % k;
      if (y < 0 || y >= c.size || x < 0 || x >= c.size) continue;
      const int64_t pixel = (row / (out * out) * c.size + y) * c.size + x;
      for (int64_t m = 0; m < c.filters; ++m) {
        const double gradient = Widen(d_dst[row * c.filters + m]);
        for (int64_t i = 0; i < c.channels; ++i) {
          expected[(m * k * k + tap) * c.channels + i] +=
              gradient * Widen(src[pixel * c.channels + i]);
        }
      }
    }
  }
  return expected;
}

}  // namespace caffe2::testing

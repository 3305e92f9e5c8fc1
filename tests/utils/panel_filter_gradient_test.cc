// Sums, strides and padding are tested through PatchFilterGradient: see onednn_conv_matmul_test.cc.
#include "caffe2/utils/panel_filter_gradient.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

#include "caffe2/core/random.h"

namespace caffe2::onednn {
namespace {

struct PanelCase {
  int64_t images, size, channels, filters, kernel, stride;
};

ConvProblem PanelProblem(const PanelCase& c) {
  const int64_t out = (c.size + c.kernel / 2 * 2 - c.kernel) / c.stride + 1;
  ConvProblem problem;
  problem.src = {c.images, c.channels, c.size, c.size};
  problem.filter = {c.filters, c.channels, c.kernel, c.kernel};
  problem.dst = {c.images, c.filters, out, out};
  problem.stride = {c.stride, c.stride};
  problem.dilation = {1, 1};
  problem.pad_begin = {c.kernel / 2, c.kernel / 2};
  problem.channels_last = true;
  problem.type = problem.filter_type = TypeMeta::Make<float>();
  return problem;
}

std::vector<float> PanelNumbers(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<float> numbers(n);
  for (float& x : numbers) x = random.Uniform() - 0.5f;
  return numbers;
}

// The gradient, and the one in double.
struct PanelGradients {
  explicit PanelGradients(const PanelCase& c) {
    const ConvProblem p = PanelProblem(c);
    const int64_t out = p.dst[2], k = c.kernel;
    const auto src = PanelNumbers(c.images * c.size * c.size * c.channels, 1);
    const auto d_dst = PanelNumbers(c.images * out * out * c.filters, 2);
    actual.assign(c.filters * k * k * c.channels, 1e9f);  // what is there before does not matter
    PanelFilterGradient(ImagePatches(p, sizeof(float)), src.data(), d_dst.data(), actual.data());
    expected.resize(actual.size());
    for (int64_t row = 0; row < c.images * out * out; ++row) {
      for (int64_t tap = 0; tap < k * k; ++tap) {
        const int64_t y = row % (out * out) / out * c.stride - k / 2 + tap / k;
        const int64_t x = row % out * c.stride - k / 2 + tap % k;
        if (y < 0 || y >= c.size || x < 0 || x >= c.size) continue;
        const int64_t pixel = (row / (out * out) * c.size + y) * c.size + x;
        for (int64_t m = 0; m < c.filters; ++m) {
          for (int64_t i = 0; i < c.channels; ++i) {
            expected[(m * k * k + tap) * c.channels + i] +=
                static_cast<double>(d_dst[row * c.filters + m]) * src[pixel * c.channels + i];
          }
        }
      }
    }
  }
  std::vector<float> actual;
  std::vector<double> expected;
};

// One block of panels to many, whose number threads do not divide, and one chunk of rows to
// several.
TEST(PanelFilterGradient, IsTheSumOfProductsForAllNumbersOfThreads) {
  const int threads_before = omp_get_max_threads();
  for (const PanelCase& c : {PanelCase{1, 1, 3, 2, 1, 1},
                             {2, 9, 33, 96, 1, 1},
                             {3, 8, 64, 160, 1, 2},
                             {2, 11, 70, 40, 3, 2}}) {
    SCOPED_TRACE(PanelProblem(c).ToString());
    omp_set_num_threads(1);
    const PanelGradients alone(c);
    for (size_t i = 0; i < alone.actual.size(); ++i) {
      ASSERT_NEAR(alone.actual[i], alone.expected[i], 1e-5) << i;
    }
    for (const int threads : {2, 3, 5, 16}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(PanelGradients(c).actual, alone.actual) << threads;
    }
    omp_set_num_threads(threads_before);
  }
}

}  // namespace
}  // namespace caffe2::onednn

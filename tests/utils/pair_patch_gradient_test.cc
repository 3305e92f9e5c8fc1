#include "caffe2/utils/pair_patch_gradient.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/core/random.h"
#include "caffe2/utils/onednn_processor.h"

namespace caffe2::onednn {
namespace {

struct PairCase {
  int64_t images, size, channels, filters, kernel, stride;
};

ConvProblem PairProblem(const PairCase& c) {
  const int64_t out = (c.size + c.kernel / 2 * 2 - c.kernel) / c.stride + 1;
  ConvProblem problem;
  problem.src = {c.images, c.channels, c.size, c.size};
  problem.filter = {c.filters, c.channels, c.kernel, c.kernel};
  problem.dst = {c.images, c.filters, out, out};
  problem.stride = {c.stride, c.stride};
  problem.dilation = {1, 1};
  problem.pad_begin = {c.kernel / 2, c.kernel / 2};
  problem.channels_last = true;
  problem.type = TypeMeta::Make<bfloat16>();
  problem.filter_type = TypeMeta::Make<float>();
  return problem;
}

std::vector<bfloat16> PairNumbers(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<bfloat16> numbers(n);
  for (bfloat16& x : numbers) x = ToBFloat16(random.Uniform() - 0.5f);
  return numbers;
}

// The gradient, and the one in double.
struct PairGradients {
  explicit PairGradients(const PairCase& c) {
    const ConvProblem p = PairProblem(c);
    const int64_t out = p.dst[2], k = c.kernel;
    const auto src = PairNumbers(c.images * c.size * c.size * c.channels, 1);
    const auto d_dst = PairNumbers(c.images * out * out * c.filters, 2);
    actual.assign(c.filters * k * k * c.channels, 1e9f);  // what is there before does not matter
    PairPatchGradient(ImagePatches(p, sizeof(bfloat16)), src.data(), d_dst.data(), actual.data());
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
                static_cast<double>(ToFloat(d_dst[row * c.filters + m])) *
                ToFloat(src[pixel * c.channels + i]);
          }
        }
      }
    }
  }
  std::vector<float> actual;
  std::vector<double> expected;
};

// Some are divided by filters, the last two by patches, whose number is odd, into several parts.
TEST(PairPatchGradient, IsTheSumOfProductsForAllNumbersOfThreads) {
  if (!MultipliesBFloat16()) GTEST_SKIP() << "oneDNN does not multiply bfloat16 here";
  const int threads_before = omp_get_max_threads();
  for (const PairCase& c : {PairCase{1, 1, 3, 2, 1, 1},
                            {2, 9, 33, 96, 1, 1},
                            {3, 8, 64, 160, 1, 2},
                            {2, 11, 70, 40, 3, 2},
                            {5, 67, 40, 33, 1, 1},
                            {3, 135, 8, 32, 3, 2}}) {
    SCOPED_TRACE(PairProblem(c).ToString());
    omp_set_num_threads(1);
    const PairGradients alone(c);
    const double tolerance = 1e-6 * static_cast<double>(c.images * c.size * c.size) + 1e-5;
    for (size_t i = 0; i < alone.actual.size(); ++i) {
      ASSERT_NEAR(alone.actual[i], alone.expected[i], std::min(tolerance, 1e-3)) << i;
    }
    for (const int threads : {2, 3, 5, 16}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(PairGradients(c).actual, alone.actual) << threads;
    }
    omp_set_num_threads(threads_before);
  }
}

}  // namespace
}  // namespace caffe2::onednn

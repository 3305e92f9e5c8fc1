// Products beyond what FC and MatMul ask of caffe2/utils/math.h.
#include "caffe2/utils/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "caffe2/core/context.h"

namespace caffe2::testing {
namespace {

// Uniform values in [-1, 1).
std::vector<float> RandomValues(int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.f, 1.f);
  std::vector<float> values(n);
  for (float& value : values) value = uniform(generator);
  return values;
}

// c = alpha a b + beta c for row-major a (m x k) and b (k x n), in double.
std::vector<float> Reference(int64_t m, int64_t n, int64_t k, double alpha,
                             const std::vector<float>& a, const std::vector<float>& b, double beta,
                             std::vector<float> c) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += static_cast<double>(a[i * k + l]) * b[l * n + j];
      c[i * n + j] = static_cast<float>(alpha * sum + beta * c[i * n + j]);
    }
  }
  return c;
}

TEST(GemmTest, ScalesAndAccumulates) {
  CPUContext context;
  const struct {
    int64_t m, n, k;
  } sizes[] = {{3, 2, 4}, {20, 30, 40}};  // the plain loop, and the library
  for (const auto& s : sizes) {
    const auto a = RandomValues(s.m * s.k, 1), b = RandomValues(s.k * s.n, 2),
               start = RandomValues(s.m * s.n, 3);
    for (const float alpha : {1.f, 0.5f}) {
      for (const float beta : {0.f, 1.f, -2.f}) {
        std::vector<float> c = start;
        math::Gemm<float>(false, false, s.m, s.n, s.k, alpha, a.data(), b.data(), beta, c.data(),
                          &context);
        const auto expected = Reference(s.m, s.n, s.k, alpha, a, b, beta, start);
        for (size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c[i], expected[i], 1e-5) << i;
      }
    }
  }
}

TEST(GemmTest, IgnoresWhatTheResultHeldForBetaZero) {
  CPUContext context;
  const std::vector<float> ones(64 * 64, 1);
  for (const int64_t n : {2, 64}) {
    std::vector<float> c(n * n, NAN);
    math::Gemm<float>(false, true, n, n, n, 1, ones.data(), ones.data(), 0, c.data(), &context);
    for (const float value : c) ASSERT_EQ(value, static_cast<float>(n));
  }
}

TEST(GemmTest, TakesEmptySums) {
  CPUContext context;
  std::vector<float> c{1, 2, 3, 4};
  math::Gemm<float>(false, false, 2, 2, 0, 1, nullptr, nullptr, 0.5f, c.data(), &context);
  EXPECT_EQ(c, (std::vector<float>{0.5f, 1, 1.5f, 2}));
  math::Gemm<float>(false, false, 0, 2, 2, 1, nullptr, c.data(), 0, nullptr, &context);
}

TEST(GemmTest, RefusesToScaleBFloat16) {
  CPUContext context;
  std::vector<bfloat16> c(32 * 32, ToBFloat16(1));
  EXPECT_THROW(math::Gemm<bfloat16>(false, false, 32, 32, 32, 0.5f, c.data(), c.data(), 0, c.data(),
                                    &context),
               EnforceNotMet);
}

TEST(ColumnSumsTest, AddsRows) {
  CPUContext context;
  const int64_t rows = 300, columns = 700;  // more than one part
  const auto x = RandomValues(rows * columns, 1);
  std::vector<float> sums(columns);
  math::ColumnSums(rows, columns, x.data(), sums.data(), &context);
  std::vector<bfloat16> rounded(x.size()), rounded_sums(columns);
  for (size_t i = 0; i < x.size(); ++i) rounded[i] = ToBFloat16(x[i]);
  math::ColumnSums(rows, columns, rounded.data(), rounded_sums.data(), &context);
  for (int64_t j = 0; j < columns; ++j) {
    double sum = 0, rounded_sum = 0;
    for (int64_t i = 0; i < rows; ++i) {
      sum += x[i * columns + j];
      rounded_sum += ToFloat(rounded[i * columns + j]);
    }
    ASSERT_NEAR(sums[j], sum, 1e-4);
    ASSERT_NEAR(ToFloat(rounded_sums[j]), rounded_sum, 0.01 * std::abs(rounded_sum) + 1e-3);
  }
}

}  // namespace
}  // namespace caffe2::testing

#include "caffe2/utils/bfloat16_pairs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "caffe2/core/random.h"

namespace caffe2 {
namespace {

std::vector<bfloat16> RandomNumbers(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<bfloat16> numbers(n);
  for (bfloat16& x : numbers) x = ToBFloat16(random.Uniform() - 0.5f);
  return numbers;
}

BFloat16Pair Pair(bfloat16 even, bfloat16 odd) {
  return {even.x | static_cast<uint32_t>(odd.x) << 16};
}

// A matrix of rows x columns as one chunk of panels. What belongs to no column is NaN.
std::vector<BFloat16Pair> Interleaved(const std::vector<bfloat16>& matrix, int64_t rows,
                                      int64_t columns) {
  const bfloat16 nan = ToBFloat16(std::numeric_limits<float>::quiet_NaN());
  std::vector<BFloat16Pair> panels(PanelsOf(columns) * kPanelStep, Pair(nan, nan));
  const std::vector<bfloat16> none(columns);
  for (int64_t r = 0; r < rows; r += 2) {
    const bfloat16* even = &matrix[r * columns];
    InterleaveRows(columns, even, r + 1 < rows ? even + columns : none.data(),
                   &panels[r / 2 * kPanel]);
  }
  return panels;
}

TEST(BFloat16Pairs, InterleaveRows) {
  for (const int64_t columns : {1, 31, 32, 33, 100}) {
    const auto even = RandomNumbers(columns, 1), odd = RandomNumbers(columns, 2);
    const BFloat16Pair before{12345};
    std::vector<BFloat16Pair> to(PanelsOf(columns) * kPanelStep, before);
    InterleaveRows(columns, even.data(), odd.data(), to.data());
    for (int64_t i = 0; i < static_cast<int64_t>(to.size()); ++i) {
      const int64_t column = i / kPanelStep * kPanel + i % kPanelStep;
      const bool written = i % kPanelStep < kPanel && column < columns;
      ASSERT_EQ(to[i].bits, (written ? Pair(even[column], odd[column]) : before).bits)
          << i << " of " << columns;
    }
  }
}

// Products of `rows` and `columns` columns of two matrices, over all lengths up to a whole panel.
void ExpectPanelProducts(int64_t rows, int64_t columns, bool accumulate) {
  for (const int64_t length : {1, 2, 3, 2 * static_cast<int>(kPanelPairs)}) {
    SCOPED_TRACE(length);
    const auto a = RandomNumbers(length * rows, 3), b = RandomNumbers(length * columns, 4);
    const int64_t step = columns + 3;
    std::vector<float> c(rows * step, 0.25f);
    MultiplyPanels((length + 1) / 2, Interleaved(a, length, rows).data(),
                   Interleaved(b, length, columns).data(), rows, columns, accumulate, step,
                   c.data());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < step; ++j) {
        double sum = accumulate || j >= columns ? 0.25 : 0;
        for (int64_t r = 0; j < columns && r < length; ++r) {
          sum += static_cast<double>(ToFloat(a[r * rows + i])) * ToFloat(b[r * columns + j]);
        }
        ASSERT_NEAR(c[i * step + j], sum, 1e-7 * static_cast<double>(length)) << i << ' ' << j;
      }
    }
  }
}

TEST(BFloat16Pairs, MultiplyPanels) {
  for (const bool accumulate : {false, true}) {
    ExpectPanelProducts(kPanel, kPanel, accumulate);
    ExpectPanelProducts(1, kPanel, accumulate);
    ExpectPanelProducts(kPanel, 1, accumulate);
    ExpectPanelProducts(13, 29, accumulate);
  }
}

TEST(BFloat16Pairs, MultiplyStrips) {
  const int64_t rows = 2 * kStripRows;
  for (const int64_t strips : {1, 3}) {
    const int64_t strip = rows * kPanel + 64, length = strips * kPanel;
    const auto a = RandomNumbers(strips * strip, 5), b = RandomNumbers(length * kPanel, 6);
    std::vector<BFloat16Pair> pairs(length / 2 * kPanel);
    for (int64_t i = 0; i < length / 2 * kPanel; ++i) {
      const int64_t even = i / kPanel * 2 * kPanel + i % kPanel;
      pairs[i] = Pair(b[even], b[even + kPanel]);
    }
    const int64_t step = kPanel + 5;
    std::vector<float> c(rows * step, 9.f);  // what is there before does not matter
    MultiplyStrips(rows, strips, strip, a.data(), pairs.data(), nullptr, step, c.data());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < kPanel; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < length; ++k) {
          const bfloat16 factor = a[k / kPanel * strip + i * kPanel + k % kPanel];
          sum += static_cast<double>(ToFloat(factor)) * ToFloat(b[k * kPanel + j]);
        }
        ASSERT_NEAR(c[i * step + j], sum, 1e-5) << i << ' ' << j;
      }
      for (int64_t j = kPanel; j < step; ++j) ASSERT_EQ(c[i * step + j], 9.f);
    }
  }
}

TEST(BFloat16Pairs, NaNAndInfinityStayInTheirRow) {
  const int64_t length = 4;
  std::vector<bfloat16> a(length * kPanel, ToBFloat16(1.f)), b = a;
  a[2] = ToBFloat16(std::numeric_limits<float>::quiet_NaN());
  a[kPanel + 5] = ToBFloat16(std::numeric_limits<float>::infinity());
  std::vector<float> c(kPanel * kPanel);
  MultiplyPanels(length / 2, Interleaved(a, length, kPanel).data(),
                 Interleaved(b, length, kPanel).data(), kPanel, kPanel, false, kPanel, c.data());
  for (int64_t i = 0; i < kPanel; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) {
      const float value = c[i * kPanel + j];
      if (i == 2) {
        ASSERT_TRUE(std::isnan(value));
      } else {
        ASSERT_EQ(value, i == 5 ? std::numeric_limits<float>::infinity() : 4.f);
      }
    }
  }
}

}  // namespace
}  // namespace caffe2

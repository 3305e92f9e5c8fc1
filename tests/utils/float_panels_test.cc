#include "caffe2/utils/float_panels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "caffe2/core/random.h"

namespace caffe2 {
namespace {

std::vector<float> RowsOfFloats(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<float> numbers(n);
  for (float& x : numbers) x = random.Uniform() - 0.5f;
  return numbers;
}

// A matrix of rows x columns as one chunk of panels. What belongs to no column is NaN.
std::vector<float> SplitMatrix(const std::vector<float>& matrix, int64_t rows, int64_t columns) {
  std::vector<float> panels(PanelsOf(columns) * kPanelStep,
                            std::numeric_limits<float>::quiet_NaN());
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t r = i / columns, column = i % columns;
    panels[column / kPanel * kPanelStep + r * kPanel + column % kPanel] = matrix[i];
  }
  return panels;
}

// Products of `rows` and `columns` columns of two matrices, over few rows and a whole panel.
void ExpectFloatPanelProducts(int64_t rows, int64_t columns, bool accumulate) {
  for (const int64_t length : {1, 2, static_cast<int>(kPanelPairs)}) {
    SCOPED_TRACE(length);
    const auto a = RowsOfFloats(length * rows, 2), b = RowsOfFloats(length * columns, 3);
    const int64_t step = columns + 3;
    std::vector<float> c(rows * step, 0.25f);
    LinesAhead ahead(3);
    ahead.AddRange(b.data(), b.data() + b.size(), length);
    MultiplyFloatPanels(length, SplitMatrix(a, length, rows).data(),
                        SplitMatrix(b, length, columns).data(), rows, columns, accumulate, step,
                        c.data(), accumulate ? &ahead : nullptr);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < step; ++j) {
        double sum = accumulate || j >= columns ? 0.25 : 0;
        for (int64_t r = 0; j < columns && r < length; ++r) {
          sum += static_cast<double>(a[r * rows + i]) * b[r * columns + j];
        }
        ASSERT_NEAR(c[i * step + j], sum, 1e-6) << i << ' ' << j;
      }
    }
  }
}

TEST(FloatPanels, MultiplyFloatPanels) {
  for (const bool accumulate : {false, true}) {
    ExpectFloatPanelProducts(kPanel, kPanel, accumulate);
    ExpectFloatPanelProducts(1, kPanel, accumulate);
    ExpectFloatPanelProducts(kPanel, 1, accumulate);
    ExpectFloatPanelProducts(13, 29, accumulate);
  }
}

TEST(FloatPanels, MultiplyFloatStrips) {
  const int64_t rows = 2 * kStripRows;
  for (const int64_t strips : {1, 3}) {
    const int64_t strip = rows * kPanel + 16, length = strips * kPanel;
    const auto a = RowsOfFloats(strips * strip, 4), b = RowsOfFloats(length * kPanel, 5);
    const int64_t step = kPanel + 5;
    for (const bool accumulate : {false, true}) {
      std::vector<float> c(rows * step, 9.f);
      MultiplyFloatStrips(rows, strips, strip, a.data(), b.data(), accumulate, step, c.data(),
                          nullptr);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < kPanel; ++j) {
          double sum = accumulate ? 9 : 0;
          for (int64_t k = 0; k < length; ++k) {
            const float factor = a[k / kPanel * strip + i * kPanel + k % kPanel];
            sum += static_cast<double>(factor) * b[k * kPanel + j];
          }
          ASSERT_NEAR(c[i * step + j], sum, 1e-5) << i << ' ' << j;
        }
        for (int64_t j = kPanel; j < step; ++j) ASSERT_EQ(c[i * step + j], 9.f);
      }
    }
  }
}

TEST(FloatPanels, NaNAndInfinityStayInTheirRow) {
  const int64_t length = 4;
  std::vector<float> a(length * kPanel, 1.f), b = a;
  a[2] = std::numeric_limits<float>::quiet_NaN();
  a[kPanel + 5] = std::numeric_limits<float>::infinity();
  std::vector<float> c(kPanel * kPanel);
  MultiplyFloatPanels(length, SplitMatrix(a, length, kPanel).data(),
                      SplitMatrix(b, length, kPanel).data(), kPanel, kPanel, false, kPanel,
                      c.data(), nullptr);
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

// Each line is asked for once, and products without lines lie between.
TEST(FloatPanels, LinesAheadAreSpreadOverProducts) {
  const float data[64] = {};
  LinesAhead ahead(9);
  ahead.Add({data, 5}, 2, 2);
  ahead.Add({data + 32, 7}, 4, 0);
  ahead.AddRange(data + 16, data + 64, 3);
  std::vector<const float*> asked;
  for (int i = 0; i < 9; ++i) asked.push_back(ahead.Next().data);
  const std::vector<const float*> expected = {nullptr,  nullptr, data,    nullptr,  nullptr,
                                              data + 2, nullptr, nullptr, data + 16};
  EXPECT_EQ(asked, expected);
  EXPECT_EQ(ahead.Next().data, nullptr);
}

}  // namespace
}  // namespace caffe2

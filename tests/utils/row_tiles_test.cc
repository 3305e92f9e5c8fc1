#include "caffe2/utils/row_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "caffe2/utils/narrow_float.h"

namespace caffe2 {
namespace {

// Element (k, j) of a matrix, exact in bfloat16 and different from all near it.
float Element(int64_t k, int64_t j) { return static_cast<float>((k * 67 + j * 3) % 255 - 127); }

float ElementOf(const std::vector<float>& panel, int64_t k, int64_t j) {
  return panel[k * kTileSide + j];
}
float ElementOf(const std::vector<BFloat16Pair>& panel, int64_t k, int64_t j) {
  const uint32_t bits = panel[k / 2 * kTileSide + j].bits;
  return ToFloat(bfloat16{static_cast<uint16_t>(k % 2 == 0 ? bits : bits >> 16)});
}

// Packs both ways, and looks at an element after the panel's end, which must stay.
template <typename T>
void ExpectPacked(int64_t depth) {
  constexpr int64_t kExtra = 3;  // elements between rows
  const int64_t step = kTileSide + kExtra, long_step = depth + kExtra;
  std::vector<float> matrix(depth * step), transpose(kTileSide * long_step);
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = 0; j < kTileSide; ++j) {
      matrix[k * step + j] = transpose[j * long_step + k] = Element(k, j);
    }
  }
  const int64_t size = depth / kRowsOfWord<T> * kTileSide;
  std::vector<TileWord<T>> panel(size + 1), transposed(size + 1);
  PackPanel<T>(depth, step, matrix.data(), panel.data());
  PackTransposedPanel<T>(depth, long_step, transpose.data(), transposed.data());
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = 0; j < kTileSide; ++j) {
      ASSERT_EQ(ElementOf(panel, k, j), Element(k, j)) << depth << " " << k << " " << j;
      ASSERT_EQ(ElementOf(transposed, k, j), Element(k, j)) << depth << " " << k << " " << j;
    }
  }
  const TileWord<T> zero{};
  EXPECT_EQ(std::memcmp(&panel[size], &zero, sizeof zero), 0);
  EXPECT_EQ(std::memcmp(&transposed[size], &zero, sizeof zero), 0);
}

TEST(RowTiles, PackPanels) {
  if (!HasTileInstructions<float>()) GTEST_SKIP() << "needs AVX-512";
  for (const int64_t depth : {1, 2, 7, 15, 16, 17, 31, 32, 50}) ExpectPacked<float>(depth);
  if (!HasTileInstructions<bfloat16>()) GTEST_SKIP() << "needs AVX512_BF16";
  for (const int64_t depth : {2, 6, 14, 16, 18, 32, 50}) ExpectPacked<bfloat16>(depth);
}

// Whole numbers, so that results are exact: `count` rows of depth 4 with the epilogue in order.
template <typename T>
void ExpectTile(int count) {
  constexpr int64_t kDepth = 4;
  std::vector<float> matrix(kDepth * kTileSide), bias(kTileSide);
  for (int64_t j = 0; j < kTileSide; ++j) {
    bias[j] = static_cast<float>(j % 5);
    for (int64_t k = 0; k < kDepth; ++k) matrix[k * kTileSide + j] = Element(k, j) / 64;
  }
  std::vector<TileWord<T>> panel(kDepth / kRowsOfWord<T> * kTileSide);
  PackPanel<T>(kDepth, kTileSide, matrix.data(), panel.data());
  std::vector<std::vector<T>> rows(kTileRows, std::vector<T>(kDepth)),
      results(kTileRows, std::vector<T>(kTileSide));
  const T* a[kTileRows];
  T* c[kTileRows];
  for (int i = 0; i < kTileRows; ++i) {
    for (int64_t k = 0; k < kDepth; ++k) Store(static_cast<float>(i + k - 3), &rows[i][k]);
    for (T& result : results[i]) Store(2.f, &result);
    a[i] = rows[i].data();
    c[i] = results[i].data();
  }
  MultiplyTile<T>(count, kDepth, a, panel.data(), {bias.data(), true, true}, c);
  for (int i = 0; i < kTileRows; ++i) {
    for (int64_t j = 0; j < kTileSide; ++j) {
      float sum = bias[j] + 2;
      for (int64_t k = 0; k < kDepth; ++k) {
        sum += static_cast<float>(i + k - 3) * matrix[k * kTileSide + j];
      }
      const float expected = i < count ? std::max(sum, 0.f) : 2;
      ASSERT_NEAR(Widen(results[i][j]), expected, expected / 256) << count << " " << i << " " << j;
    }
  }
}

TEST(RowTiles, MultiplyRowsAndNoOthers) {
  for (int rows = 1; rows <= kTileRows; ++rows) {
    if (HasTileInstructions<float>()) ExpectTile<float>(rows);
    if (HasTileInstructions<bfloat16>()) ExpectTile<bfloat16>(rows);
  }
}

}  // namespace
}  // namespace caffe2

#include "caffe2/utils/filter_tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "caffe2/core/random.h"
#include "caffe2/utils/narrow_float.h"

namespace caffe2 {
namespace {

template <typename T>
class FilterTilesTest : public ::testing::Test {};
using TileTypes = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(FilterTilesTest, TileTypes);

// A matrix, and where its rows lie: apart, in another order than in memory.
template <typename T>
struct ScatteredRows {
  ScatteredRows(int64_t words, int64_t columns, uint64_t seed) : width(columns + 5) {
    const int64_t count = words * kRowsOfWord<T>;
    RandomGenerator random(seed);
    numbers.resize(count * width);
    for (T& x : numbers) Store(random.Uniform() - 0.5f, &x);
    for (int64_t r = 0; r < count; ++r) rows.push_back(&numbers[(count - 1 - r) * width]);
  }
  int64_t width;
  std::vector<T> numbers;
  std::vector<const T*> rows;
};

template <typename T>
T Element(TileWord<T> word, int64_t row) {
  if constexpr (kRowsOfWord<T> == 1) {
    return word;
  } else {
    return T{static_cast<uint16_t>(row == 0 ? word.bits : word.bits >> 16)};
  }
}

template <typename T>
TileWord<T> SomeWord() {
  if constexpr (kRowsOfWord<T> == 1) {
    return std::numeric_limits<float>::quiet_NaN();
  } else {
    return {0x7fc07fc0};  // two NaN
  }
}

TYPED_TEST(FilterTilesTest, PackTilePanelInterleavesRows) {
  using T = TypeParam;
  const int64_t words = 3, column = 2;
  for (const int64_t columns : {1, 31, 32, 33, 63, 64}) {
    const ScatteredRows<T> from(words, columns, 1);
    std::vector<TileWord<T>> to((words + 1) * kTileSide, SomeWord<T>());
    PackTilePanel<T>(words, columns, {from.rows.data(), column}, to.data());
    for (int64_t r = 0; r < words * kRowsOfWord<T>; ++r) {
      for (int64_t i = 0; i < kTileSide; ++i) {
        const T element = Element<T>(to[r / kRowsOfWord<T> * kTileSide + i], r % kRowsOfWord<T>);
        ASSERT_EQ(Widen(element), i < columns ? Widen(from.rows[r][column + i]) : 0.f)
            << r << ' ' << i << " of " << columns;
      }
    }
    const float after = Widen(Element<T>(to[words * kTileSide], 0));
    ASSERT_TRUE(std::isnan(after));
  }
}

// A product of `filters` and `columns` columns of matrices; b is packed before, or on the way.
template <typename T>
void ExpectTileProducts(int64_t words, int64_t filters, int64_t columns, bool packed,
                        bool accumulate) {
  SCOPED_TRACE(::testing::Message()
               << words << " words, " << filters << " x " << columns << (packed ? ", packed" : ""));
  constexpr int64_t kColumn = 1, kStepA = kTileSide;
  const ScatteredRows<T> a_rows(words, filters, 2), b_rows(words, columns, 3);
  std::vector<TileWord<T>> a(words * kStepA), b(words * kTileSide, SomeWord<T>());
  PackTilePanel<T>(words, filters, {a_rows.rows.data(), kColumn}, a.data());
  const TileRows<T> unpacked{b_rows.rows.data(), kColumn};
  if (packed) PackTilePanel<T>(words, columns, unpacked, b.data());
  const int64_t step = columns + 3;
  std::vector<float> c(filters * step, 0.25f);
  RowsAhead<T> ahead(2);
  ahead.Add(b_rows.rows.data(), 0, columns);
  MultiplyTiles<T>({words, a.data(), kStepA, filters, b.data(), columns,
                    packed ? TileRows<T>{} : unpacked, accumulate, c.data(), step},
                   accumulate ? &ahead : nullptr);
  for (int64_t i = 0; i < filters; ++i) {
    for (int64_t j = 0; j < step; ++j) {
      double sum = accumulate || j >= columns ? 0.25 : 0;
      for (int64_t r = 0; j < columns && r < words * kRowsOfWord<T>; ++r) {
        sum += static_cast<double>(Widen(a_rows.rows[r][kColumn + i])) *
               Widen(b_rows.rows[r][kColumn + j]);
      }
      ASSERT_NEAR(c[i * step + j], sum, 2e-6) << i << ' ' << j;
    }
  }
}

// Whole tiles and each rest of rows, with panels of whole vectors and others.
TYPED_TEST(FilterTilesTest, MultiplyTiles) {
  for (const bool accumulate : {false, true}) {
    for (const bool packed : {false, true}) {
      for (const int64_t columns : {1, 31, 32, 48, 63, 64}) {
        for (const int64_t filters : {1, 2, 3, 4, 5, 6, 11, 64}) {
          ExpectTileProducts<TypeParam>(5, filters, columns, packed, accumulate);
        }
      }
      ExpectTileProducts<TypeParam>(1, 7, 64, packed, accumulate);
      ExpectTileProducts<TypeParam>(kTileWords, 7, 64, packed, accumulate);
    }
  }
}

TYPED_TEST(FilterTilesTest, NaNAndInfinityStayInTheirRow) {
  using T = TypeParam;
  const int64_t words = 2;
  ScatteredRows<T> a(words, kTileSide, 2), b(words, kTileSide, 3);
  for (T& x : a.numbers) Store(1.f, &x);
  for (T& x : b.numbers) Store(1.f, &x);
  Store(std::numeric_limits<float>::quiet_NaN(), &a.numbers[2]);
  Store(std::numeric_limits<float>::infinity(), &a.numbers[a.width + 5]);
  std::vector<TileWord<T>> a_panel(words * kTileSide), b_panel(words * kTileSide);
  PackTilePanel<T>(words, kTileSide, {a.rows.data(), 0}, a_panel.data());
  std::vector<float> c(kTileSide * kTileSide);
  MultiplyTiles<T>({words,
                    a_panel.data(),
                    kTileSide,
                    kTileSide,
                    b_panel.data(),
                    kTileSide,
                    {b.rows.data(), 0},
                    false,
                    c.data(),
                    kTileSide},
                   nullptr);
  for (int64_t i = 0; i < kTileSide; ++i) {
    for (int64_t j = 0; j < kTileSide; ++j) {
      const float value = c[i * kTileSide + j];
      if (i == 2) {
        ASSERT_TRUE(std::isnan(value));
      } else {
        ASSERT_EQ(value, i == 5 ? std::numeric_limits<float>::infinity()
                                : static_cast<float>(words * kRowsOfWord<T>));
      }
    }
  }
}

// Each line of each row is asked for once, and products without lines lie between.
TYPED_TEST(FilterTilesTest, RowsAheadAreSpreadOverProducts) {
  using T = TypeParam;
  constexpr int64_t kLine = RowsAhead<T>::kLine, kRows = kRowsOfWord<T>;
  const std::vector<const T*> first(8), second(8);
  RowsAhead<T> ahead(6 * kRows);
  ahead.Add(first.data(), 5, 6 + kLine);
  ahead.Add(second.data(), 0, kLine);
  for (int64_t line = 0; line < 3; ++line) {
    for (int64_t row = 0; row < kRows; ++row) {
      EXPECT_EQ(ahead.Next().rows, nullptr);
      const TileRows<T> next = ahead.Next();
      EXPECT_EQ(next.rows, (line < 2 ? first : second).data() + row);
      EXPECT_EQ(next.column, line < 2 ? 5 + line * kLine : 0);
    }
  }
  EXPECT_EQ(ahead.Next().rows, nullptr);
}

TEST(FilterTiles, TilesOf) {
  const std::vector<int64_t> expected = {0, 1, 1, 2, 1, 2, 1, 2, 2, 3};
  for (int64_t i = 0; i < static_cast<int64_t>(expected.size()); ++i) {
    EXPECT_EQ(TilesOf(i), expected[i]) << i;
  }
  EXPECT_EQ(TilesOf(kTileSide), 11);
}

}  // namespace
}  // namespace caffe2

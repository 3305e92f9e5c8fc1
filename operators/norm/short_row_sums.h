// Sums over kShortRowCount short rows (operators/common/short_rows.h), added in double.
#pragma once

#include "operators/common/short_rows.h"

namespace caffe2 {

// Rows of fewer than kLanes elements are added across rows, longer ones in lanes. The order of the
// additions depends on n alone.
class ShortRowSums {
 public:
  CAFFE2_INLINE ShortRowSums(int64_t n, const float* rows) : n_(n), rows_(rows) {
    if (n < kLanes) ToColumns(n, rows, columns_);
  }

  // sums[r] = the sum of f(element, r) over row r.
  template <class F>
  CAFFE2_INLINE void Add(double* sums, const F& f) const {
    if (n_ < kLanes) {
      SumShortRows(n_, columns_, sums, f);
    } else {
      AddInLanes(sums, f);
    }
  }

 private:
  static constexpr int64_t kLanes = 32, kSums = 8;

  template <class F>
  CAFFE2_INLINE void AddInLanes(double* sums, const F& f) const {
    double partial[kShortRowCount * kSums];
    for (int64_t r = 0; r < kShortRowCount; ++r) {
      const float* row = rows_ + r * n_;
      double lane[kLanes];
#pragma omp simd
      for (int64_t l = 0; l < kLanes; ++l) lane[l] = f(row[l], r);
      int64_t j = kLanes;
      for (; j + kSums <= n_; j += kSums) {
#pragma omp simd
        for (int64_t l = 0; l < kSums; ++l) lane[l] += f(row[j + l], r);
      }
      for (int64_t l = 0; j < n_; ++j, ++l) lane[l] += f(row[j], r);
#pragma omp simd
      for (int64_t l = 0; l < kSums; ++l) {
        partial[r * kSums + l] =
            (lane[l] + lane[kSums + l]) + (lane[2 * kSums + l] + lane[3 * kSums + l]);
      }
    }
    std::fill_n(sums, kShortRowCount, 0.);
    for (int64_t l = 0; l < kSums; ++l) {
#pragma omp simd
      for (int64_t r = 0; r < kShortRowCount; ++r) sums[r] += partial[r * kSums + l];
    }
  }

  const int64_t n_;
  const float* const rows_;
  float columns_[kShortRowElements];
};

}  // namespace caffe2

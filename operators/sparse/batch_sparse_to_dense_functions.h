// Rows of a matrix as lists of columns and values, for the host and for devices (host_device.h).
// Row r has the entries [offsets[r], offsets[r + 1]).
#pragma once

#include "operators/common/row_indices.h"

namespace caffe2 {

// Row r of y: the values of its entries, the last one of equal columns; `fill` elsewhere.
struct SparseToDenseRows {
  static constexpr const char* kName = "BatchSparseToDense";
  const int64_t* offsets;
  RowIndices column;  // of each entry
  float fill;
  const float* value;
  float* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t r, Team team) const {
    float* row = y + r * column.rows;
    for (int64_t j = team.first(); j < column.rows; j += team.step()) row[j] = fill;
    // Each member handles its own columns and reads all entries in order, so that the last one
    // counts.
    for (int64_t e = offsets[r]; e < offsets[r + 1]; ++e) {
      const int64_t j = column.At(e);
      if (column.Has(j) && j % team.step() == team.first()) row[j] = value[e];
    }
  }
};

// y[e] = the element of x that entry e of row r names.
struct DenseToSparseRows {
  static constexpr const char* kName = "BatchDenseToSparse";
  const int64_t* offsets;
  RowIndices column;
  const float* x;
  float* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t r, Team team) const {
    for (int64_t e = offsets[r] + team.first(); e < offsets[r + 1]; e += team.step()) {
      const int64_t j = column.At(e);
      y[e] = column.Has(j) ? x[r * column.rows + j] : 0.f;
    }
  }
};

}  // namespace caffe2

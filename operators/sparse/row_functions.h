// Sums, scales and assigns rows that are named by index, for the host and for devices
// (host_device.h).
#pragma once

#include "operators/common/rate.h"
#include "operators/common/row_indices.h"
#include "operators/common/sorted_rows.h"

namespace caffe2 {

// y[o, row] = the sum of x[o, position] over the positions that name the row, for o < outer. Other
// rows of y stay unchanged.
template <typename T>
struct SumSortedRows {
  static constexpr const char* kName = "SumRows";
  SortedRows sorted;
  int64_t outer, rows, width;
  const T* x;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    if (!sorted.First(i)) return;
    const auto row = static_cast<int64_t>(sorted.Row(i));
    for (int64_t j = team.first(); j < outer * width; j += team.step()) {
      const int64_t o = j / width, column = j % width;
      auto sum = host_device::Widen(x[(o * sorted.n + sorted.Position(i)) * width + column]);
      for (int64_t k = i + 1; k < sorted.n && sorted.Row(k) == sorted.Row(i); ++k) {
        sum += host_device::Widen(x[(o * sorted.n + sorted.Position(k)) * width + column]);
      }
      y[(o * rows + row) * width + column] = host_device::Narrow<T>(sum);
    }
  }
};

// y[row] = x for each row that the indices name; `width` counts words.
template <typename Word>
struct SetRows {
  static constexpr const char* kName = "CopyRowsToTensor";
  RowIndices rows;
  int64_t width;
  const Word* x;
  Word* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    const int64_t row = rows.At(i);
    if (!rows.Has(row)) return;
    for (int64_t j = team.first(); j < width; j += team.step()) y[row * width + j] = x[j];
  }
};
// sum[j] = the sum of column j of x over the named rows, each counted once. Zeroes these rows of x.
template <typename T>
struct TakeRows {
  static constexpr const char* kName = "CopyRowsToTensorGradient";
  SortedRows sorted;
  int64_t width;
  T *x, *sum;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t j, Team team) const {
    decltype(host_device::Widen(T{})) part = 0;
    for (int64_t i = team.first(); i < sorted.n; i += team.step()) {
      if (!sorted.First(i)) continue;
      T* taken = x + static_cast<int64_t>(sorted.Row(i)) * width + j;
      part += host_device::Widen(*taken);
      *taken = T{};
    }
    part = team.Sum(part);
    if (team.leader()) sum[j] = host_device::Narrow<T>(part);
  }
};

// Functors for UpdateRows: x[row] *= weight, and x[row] += weight * u[position].
struct ScaleRow {
  static constexpr const char* kName = "ScaleRow";
  int64_t width;
  Rate weight;
  float* x;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t /*position*/, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) x[row * width + j] *= weight();
  }
};
struct AddWeightedRow {
  static constexpr const char* kName = "AddWeightedRow";
  int64_t width;
  Rate weight;
  const float* u;
  float* x;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t position, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      x[row * width + j] += weight() * u[position * width + j];
    }
  }
};
// to[row] = from[position]; `width` counts words.
template <typename Word>
struct AssignRow {
  static constexpr const char* kName = "ScatterAssign";
  int64_t width;
  const Word* from;
  Word* to;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t position, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      to[row * width + j] = from[position * width + j];
    }
  }
};

}  // namespace caffe2

// Positions of indices, sorted by the rows that the indices name, and updates of these rows. For
// the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The positions [0, n), sorted by the row that each names. Positions of one row keep their order. A
// key is row << 32 | position. A position that names no row has the row kNoRow. Other rows, and all
// positions, are below kNoRow.
struct SortedRows {
  static constexpr uint64_t kNoRow = 0xffffffff;
  int64_t n = 0;
  const uint64_t* keys = nullptr;
  CAFFE2_HOST_DEVICE uint64_t Row(int64_t i) const { return keys[i] >> 32; }
  CAFFE2_HOST_DEVICE int64_t Position(int64_t i) const {
    return static_cast<int64_t>(keys[i] & 0xffffffff);
  }
  // True if i is the first position of its row in sorted order.
  CAFFE2_HOST_DEVICE bool First(int64_t i) const {
    return Row(i) != kNoRow && (i == 0 || Row(i - 1) != Row(i));
  }
};

// Calls rule(row, position, team) for every position. A row that is named twice is updated twice,
// in order: one team handles all positions of a row.
template <class Rule>
struct UpdateSortedRows {
  static constexpr const char* kName = Rule::kName;
  SortedRows sorted;
  Rule rule;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    if (!sorted.First(i)) return;
    const uint64_t row = sorted.Row(i);
    for (; i < sorted.n && sorted.Row(i) == row; ++i) {
      rule(static_cast<int64_t>(row), sorted.Position(i), team);
    }
  }
};

}  // namespace caffe2

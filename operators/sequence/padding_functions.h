// Rows before and after segments, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Row r of y is row source[r] of x; source[r] may also be kPadBefore or kPadAfter, for the pads
// `before` and `after` (zeros if null).
constexpr int64_t kPadBefore = -1, kPadAfter = -2;
template <typename Word>
struct PadRows {
  static constexpr const char* kName = "AddPadding";
  int64_t width;
  const int64_t* source;
  const Word *x, *before, *after;
  Word* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t r, Team team) const {
    const int64_t row = source[r];
    const Word* from = row >= 0 ? x + row * width : row == kPadBefore ? before : after;
    for (int64_t c = team.first(); c < width; c += team.step()) {
      y[r * width + c] = from == nullptr ? Word(0) : from[c];
    }
  }
};

// sum[j] = the sum of column j over the rows in a list.
template <typename T>
struct SumListedRows {
  static constexpr const char* kName = "GatherPadding";
  int64_t count;
  const int64_t* rows;
  int64_t width;
  const T* x;
  T* sum;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t j, Team team) const {
    T part = 0;
    for (int64_t k = team.first(); k < count; k += team.step()) part += x[rows[k] * width + j];
    part = team.Sum(part);
    if (team.leader()) sum[j] = part;
  }
};

}  // namespace caffe2

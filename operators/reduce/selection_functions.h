// Selects elements along an axis, for the host and for devices (host_device.h). X is [outer, n,
// inner]. Line l has the outer index l / inner and the inner index l % inner.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Element j of a line lies at First(line) + j * inner.
struct LineLayout {
  int64_t n = 0, inner = 1;
  CAFFE2_HOST_DEVICE int64_t First(int64_t line) const {
    return line / inner * n * inner + line % inner;
  }
};

// indices[line] = the first position of the largest (or smallest) element of a line of n > 0. A NaN
// is skipped, unless it is the first element: then the position is 0.
template <bool kMax, typename T>
struct FindExtreme {
  static constexpr const char* kName = kMax ? "ArgMax" : "ArgMin";
  LineLayout layout;
  const T* x;
  int64_t* indices;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t line, Team team) const {
    const T* from = x + layout.First(line);
    auto best = host_device::Widen(from[0]);
    int64_t at = layout.n;  // nothing yet
    for (int64_t j = team.first(); j < layout.n; j += team.step()) {
      const auto value = host_device::Widen(from[j * layout.inner]);
      const bool better = at == layout.n ? value == value : kMax ? value > best : value < best;
      if (better) {
        best = value;
        at = j;
      }
    }
    // A member that found no element proposes the first element, which may be NaN.
    const auto first = host_device::Widen(from[0]);
    if (at == layout.n) best = first;
    auto extreme = first == first ? best : first;
    if constexpr (kMax) {
      extreme = team.Reduce(extreme, host_device::Max());
    } else {
      extreme = team.Reduce(extreme, host_device::Min());
    }
    at = team.Reduce(best == extreme ? at : layout.n, host_device::Min());
    if (team.leader()) indices[line] = first == first && at < layout.n ? at : 0;
  }
};

// y[q] = the last position of query[q] among n values, or `missing`. Compares with all n values.
template <typename T>
struct FindLastPosition {
  static constexpr const char* kName = "Find";
  int64_t n;
  const T *values, *query;
  T missing;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t q, Team team) const {
    int64_t at = -1;
    for (int64_t i = team.first(); i < n; i += team.step()) {
      if (values[i] == query[q]) at = i;
    }
    at = team.Reduce(at, host_device::Max());
    if (team.leader()) y[q] = at < 0 ? missing : static_cast<T>(at);
  }
};

// Writes dy to the elements of dx that TopK took. The other elements of dx must be 0 already.
template <typename T>
struct ScatterTopK {
  LineLayout layout;
  int64_t k;
  const T* dy;
  const int64_t* indices;  // in [0, n), or below 0 for none
  T* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t at) const {
    const int64_t index = indices[at];
    if (index < 0 || index >= layout.n) return;
    const int64_t outer = at / (k * layout.inner), i = at % layout.inner;
    dx[(outer * layout.n + index) * layout.inner + i] = dy[at];
  }
};

// Fills row r of the result, [offsets[r], offsets[r + 1]), with the first elements of line r. The
// lines are sorted and have k elements each.
struct KeepFirst {
  static constexpr const char* kName = "FlexibleTopK";
  int64_t k;
  const int64_t* offsets;
  const float* sorted;
  const int64_t* sorted_at;
  float* values;
  int64_t* indices;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t r, Team team) const {
    const int64_t begin = offsets[r], n = offsets[r + 1] - begin;
    for (int64_t i = team.first(); i < n; i += team.step()) {
      values[begin + i] = sorted[r * k + i];
      indices[begin + i] = sorted_at[r * k + i];
    }
  }
};
// ScatterTopK for FlexibleTopK, with rows of `width` elements.
struct ScatterFlexibleTopK {
  static constexpr const char* kName = "FlexibleTopKGradient";
  int64_t width;
  const int64_t* offsets;
  const float* dy;
  const int64_t* index;  // in [0, width)
  float* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t r, Team team) const {
    for (int64_t i = offsets[r] + team.first(); i < offsets[r + 1]; i += team.step()) {
      dx[r * width + index[i]] = dy[i];
    }
  }
};
// ScatterTopK for LengthsTopK: up to k elements of each segment of x; unused indices are -1.
struct ScatterLengthsTopK {
  static constexpr const char* kName = "LengthsTopKGradient";
  int64_t k;
  const int64_t* offsets;
  const float* dy;
  const int32_t* index;  // below the length of the segment
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t at) const {
    if (index[at] >= 0) dx[offsets[at / k] + index[at]] = dy[at];
  }
};

}  // namespace caffe2

// Functors for UpdateRows (operators/common/update_rows.h), for the host and for devices
// (host_device.h). They bound, shrink or count the rows of a parameter that indices name.
#pragma once

#include "operators/common/host_device.h"
#include "operators/elementwise/clip_op.h"

namespace caffe2 {

// Scales a row to a Euclidean norm, always or only if its norm is larger. Rows of zeros stay.
template <typename T>
struct NormalizeRow {
  static constexpr const char* kName = "SparseNormalize";
  int64_t width;
  bool only_above;
  float norm;
  T* p;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t /*position*/, Team team) const {
    using Number = typename Team::Number;
    T* x = p + row * width;
    Number squares = 0;
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const Number value = host_device::Widen(x[j]);
      squares += value * value;
    }
    const Number own = std::sqrt(team.Sum(squares));
    if (own == 0 || (only_above && own <= norm)) return;
    const auto factor = static_cast<float>(norm / own);
    for (int64_t j = team.first(); j < width; j += team.step()) {
      x[j] = host_device::Narrow<T>(host_device::Widen(x[j]) * factor);
    }
    team.Sync();
  }
};

// Shrinks a row: by the factor 1 - lambda, or each element by lambda towards zero.
struct ShrinkRow {
  static constexpr const char* kName = "SparseLpRegularizer";
  int64_t width;
  bool by_share;
  float lambda;
  float* p;
  CAFFE2_HOST_DEVICE float Shrink(float x) const {
    if (by_share) return x * (1 - lambda);
    return std::fabs(x) <= lambda ? 0.f : x - std::copysign(lambda, x);
  }
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t /*position*/, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      p[row * width + j] = Shrink(p[row * width + j]);
    }
  }
};

// Limits the values of a row.
struct LimitRow {
  static constexpr const char* kName = "EnsureClippedRows";
  int64_t width;
  ClipFunction limit;
  float* p;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t /*position*/, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      p[row * width + j] = limit(p[row * width + j]);
    }
  }
};

// Counts an update of a row. Older updates lose half of their weight in `halflife` iterations.
struct CountRow {
  static constexpr const char* kName = "RowWiseCounter";
  static constexpr int64_t width = 1;
  int64_t now;
  double halflife;
  int64_t* last;
  double* count;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t /*position*/, Team team) const {
    if (!team.leader()) return;
    // Iterations may come out of order (a restored one, or one of a late worker). Then none passed.
    const double passed = static_cast<double>(now) - static_cast<double>(last[row]);
    count[row] = 1 + std::exp2(-(passed > 0 ? passed : 0.) / halflife) * count[row];
    last[row] = now > last[row] ? now : last[row];
  }
};

}  // namespace caffe2

// More rules for rows that are named by index (row_functions.h).
#pragma once

#include "operators/common/portable.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

// Adam of several iterations at once, of which the last has a gradient. In the others the first
// moment alone moves the row: by the sum of moment_1 beta1^i, for i from 1 to steps - 1, over the
// root of the second moment as it is now.
struct SmartDecayAdamRow {
  static constexpr const char* kName = "SmartDecaySparseAdam";
  int64_t width;
  float beta1, beta2, epsilon;
  int64_t now;  // the iteration, from 1
  Rate lr;
  const float* g;
  float *p, *m1, *m2;
  int64_t* last_seen;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    const auto steps = static_cast<float>(now - last_seen[row]);
    team.Wait();  // all have read it
    if (team.leader()) last_seen[row] = now;
    const float keep1 = std::pow(beta1, steps), keep2 = std::pow(beta2, steps);
    const float missed = steps > 1 ? beta1 * (1 - std::pow(beta1, steps - 1)) / (1 - beta1) : 0.f;
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const int64_t at = row * width + j;
      const float slope = g[position * width + j], caught_up = missed * m1[at];
      const float first = keep1 * m1[at] + (1 - beta1) * slope;
      const float second = keep2 * m2[at] + (1 - beta2) * slope * slope;
      m1[at] = first;
      m2[at] = second;
      p[at] += lr() * (first + caught_up) / (std::sqrt(second) + epsilon);
    }
    team.Wait();
  }
};

// Scales a row to a Euclidean norm, or only one above it. Zeros stay.
template <typename T>
struct NormalizeRow {
  static constexpr const char* kName = "SparseNormalize";
  int64_t width;
  bool only_above;
  float norm;
  T* p;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t /*position*/, Team team) const {
    using Number = typename Team::Number;
    T* x = p + row * width;
    Number squares = 0;
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const Number value = portable::Widen(x[j]);
      squares += value * value;
    }
    const Number own = std::sqrt(team.Sum(squares));
    if (own == 0 || (only_above && own <= norm)) return;
    const auto factor = static_cast<float>(norm / own);
    for (int64_t j = team.first(); j < width; j += team.step()) {
      x[j] = portable::Narrow<T>(portable::Widen(x[j]) * factor);
    }
    team.Wait();
  }
};

// The row becomes the one at the position; `width` counts words.
template <typename Word>
struct AssignRow {
  static constexpr const char* kName = "ScatterAssign";
  int64_t width;
  const Word* from;
  Word* to;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      to[row * width + j] = from[position * width + j];
    }
  }
};

// A row that shrinks: to the share 1 - lambda, or each element by lambda towards zero.
struct ShrinkRow {
  static constexpr const char* kName = "SparseLpRegularizer";
  int64_t width;
  bool by_share;
  float lambda;
  float* p;
  CAFFE2_PORTABLE float Shrink(float x) const {
    if (by_share) return x * (1 - lambda);
    return std::fabs(x) <= lambda ? 0.f : x - std::copysign(lambda, x);
  }
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t /*position*/, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      p[row * width + j] = Shrink(p[row * width + j]);
    }
  }
};

// Values, and rows of them, in [low, high]; NaN stays.
struct LimitValue {
  static constexpr const char* kName = "EnsureClipped";
  float low, high;
  CAFFE2_PORTABLE float operator()(float x) const { return x < low ? low : x > high ? high : x; }
};
struct LimitRow {
  static constexpr const char* kName = "EnsureClippedRows";
  int64_t width;
  LimitValue limit;
  float* p;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t /*position*/, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      p[row * width + j] = limit(p[row * width + j]);
    }
  }
};

// One more update of a row; older ones have lost half of their weight in `halflife` iterations.
struct CountRow {
  static constexpr const char* kName = "RowWiseCounter";
  static constexpr int64_t width = 1;
  int64_t now;
  double halflife;
  int64_t* last;
  double* count;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t /*position*/, Team team) const {
    if (!team.leader()) return;
    // Iterations may come out of order (an old one restored, or a late worker's): none passed.
    const double passed = static_cast<double>(now) - static_cast<double>(last[row]);
    count[row] = 1 + std::exp2(-(passed > 0 ? passed : 0.) / halflife) * count[row];
    last[row] = now > last[row] ? now : last[row];
  }
};

}  // namespace caffe2

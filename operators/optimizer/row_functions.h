// Rows that are named by index: summed and updated, for the host and for devices (portable.h).
#pragma once

#include "operators/common/portable.h"
#include "operators/common/row_indices.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

// Positions [0, n) by the row that each names, those of a row in their order: sorted keys of row <<
// 32 | position. kNoRow is the row of a position that names none. Rows and positions are below
// kNoRow.
struct SortedRows {
  static constexpr uint64_t kNoRow = 0xffffffff;
  int64_t n = 0;
  const uint64_t* keys = nullptr;
  CAFFE2_PORTABLE uint64_t Row(int64_t i) const { return keys[i] >> 32; }
  CAFFE2_PORTABLE int64_t Position(int64_t i) const {
    return static_cast<int64_t>(keys[i] & 0xffffffff);
  }
  // True for one i of each row that is named.
  CAFFE2_PORTABLE bool First(int64_t i) const {
    return Row(i) != kNoRow && (i == 0 || Row(i - 1) != Row(i));
  }
};

// rule(row, position, team) for every position; a row that is named twice is updated twice, in
// order. A team works on all that name one row.
template <class Rule>
struct UpdateSortedRows {
  static constexpr const char* kName = Rule::kName;
  SortedRows sorted;
  Rule rule;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t i, Team team) const {
    if (!sorted.First(i)) return;
    const uint64_t row = sorted.Row(i);
    for (; i < sorted.n && sorted.Row(i) == row; ++i) {
      rule(static_cast<int64_t>(row), sorted.Position(i), team);
    }
  }
};

// y[o, row] = the sum of x[o, position] over the positions that name the row, for o < outer; other
// rows of y are left alone.
template <typename T>
struct SumSortedRows {
  static constexpr const char* kName = "SumRows";
  SortedRows sorted;
  int64_t outer, rows, width;
  const T* x;
  T* y;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t i, Team team) const {
    if (!sorted.First(i)) return;
    const auto row = static_cast<int64_t>(sorted.Row(i));
    for (int64_t j = team.first(); j < outer * width; j += team.step()) {
      const int64_t o = j / width, column = j % width;
      auto sum = portable::Widen(x[(o * sorted.n + sorted.Position(i)) * width + column]);
      for (int64_t k = i + 1; k < sorted.n && sorted.Row(k) == sorted.Row(i); ++k) {
        sum += portable::Widen(x[(o * sorted.n + sorted.Position(k)) * width + column]);
      }
      y[(o * rows + row) * width + column] = portable::Narrow<T>(sum);
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
  CAFFE2_PORTABLE void operator()(int64_t i, Team team) const {
    const int64_t row = rows.At(i);
    if (!rows.Has(row)) return;
    for (int64_t j = team.first(); j < width; j += team.step()) y[row * width + j] = x[j];
  }
};
// sum[j] = the sum of column j of x over the rows that are named, each once, which become 0.
template <typename T>
struct TakeRows {
  static constexpr const char* kName = "CopyRowsToTensorGradient";
  SortedRows sorted;
  int64_t width;
  T *x, *sum;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t j, Team team) const {
    decltype(portable::Widen(T{})) part = 0;
    for (int64_t i = team.first(); i < sorted.n; i += team.step()) {
      if (!sorted.First(i)) continue;
      T* taken = x + static_cast<int64_t>(sorted.Row(i)) * width + j;
      part += portable::Widen(*taken);
      *taken = T{};
    }
    part = team.Sum(part);
    if (team.leader()) sum[j] = portable::Narrow<T>(part);
  }
};

// Rules: x[row] *= weight, and x[row] += weight * u[position].
struct ScaleRow {
  static constexpr const char* kName = "ScaleRow";
  int64_t width;
  Rate weight;
  float* x;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t /*position*/, Team team) const {
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
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      x[row * width + j] += weight() * u[position * width + j];
    }
  }
};

// The updates of optimizers (adagrad_op.h, adam_op.h, momentum_sgd_op.h, adadelta_op.h, ftrl_op.h):
// gradients g are a row for each position. P is the parameter's type, float or float16.
template <typename P>
struct AdagradRow {
  static constexpr const char* kName = "SparseAdagrad";
  int64_t width;
  float epsilon, weight_decay;
  Rate lr;
  const float* g;
  P* p;
  float* h;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const int64_t at = row * width + j;
      const float value = portable::Widen(p[at]);
      const float slope = g[position * width + j] + weight_decay * value;
      const float squares = h[at] + slope * slope;
      h[at] = squares;
      p[at] = portable::Narrow<P>(value + lr() * slope / (std::sqrt(squares) + epsilon));
    }
  }
};
// The moment holds one number a row, the sum of the rows' mean squares.
template <typename P>
struct RowWiseAdagradRow {
  static constexpr const char* kName = "RowWiseSparseAdagrad";
  int64_t width;
  float epsilon, weight_decay;
  Rate lr;
  const float* g;
  const double* counts;  // null: all rows decay alike
  double halflife;
  P* p;
  float* h;
  // A row that is updated seldom decays for the iterations between (RowWiseCounter).
  CAFFE2_PORTABLE float DecayOf(int64_t row) const {
    if (counts == nullptr || halflife <= 0 || counts[row] <= 0) return weight_decay;
    return static_cast<float>(halflife / counts[row] * weight_decay);
  }
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    const float decay = DecayOf(row);
    float squares = 0;
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const float value = portable::Widen(p[row * width + j]);
      const float slope = g[position * width + j] + decay * value;
      squares += slope * slope;
    }
    squares = team.Sum(squares);
    const float moment = h[row] + (width == 0 ? 0.f : squares / static_cast<float>(width));
    team.Wait();  // all have read it
    if (team.leader()) h[row] = moment;
    const float step = lr() / (std::sqrt(moment) + epsilon);
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const int64_t at = row * width + j;
      const float value = portable::Widen(p[at]);
      p[at] = portable::Narrow<P>(value + step * (g[position * width + j] + decay * value));
    }
    team.Wait();
  }
};
struct AdamRow {
  static constexpr const char* kName = "SparseAdam";
  int64_t width;
  float beta1, beta2, epsilon;
  float factor;   // AdamCorrection, or of rectified Adam
  bool adaptive;  // false: steps are not divided by the root of the second moment
  Rate lr;
  const float* g;
  float *p, *m1, *m2, *step_out;  // step_out may be null
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const int64_t at = row * width + j, from = position * width + j;
      const float first = beta1 * m1[at] + (1 - beta1) * g[from];
      const float second = beta2 * m2[at] + (1 - beta2) * g[from] * g[from];
      const float step = factor * first / (adaptive ? std::sqrt(second) + epsilon : 1.f);
      m1[at] = first;
      m2[at] = second;
      p[at] += lr() * step;
      if (step_out != nullptr) step_out[from] = step;
    }
  }
};
// The second moment holds one number a row, of the rows' mean squares.
struct RowWiseAdamRow {
  static constexpr const char* kName = "RowWiseSparseAdam";
  int64_t width;
  float beta1, beta2, epsilon, correction;
  Rate lr;
  const float* g;
  float *p, *m1, *m2, *step_out;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    float squares = 0;
    for (int64_t j = team.first(); j < width; j += team.step()) {
      squares += g[position * width + j] * g[position * width + j];
    }
    squares = team.Sum(squares);
    const float mean = width == 0 ? 0.f : squares / static_cast<float>(width);
    const float second = beta2 * m2[row] + (1 - beta2) * mean;
    team.Wait();  // all have read it
    if (team.leader()) m2[row] = second;
    const float factor = correction / (std::sqrt(second) + epsilon);
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const int64_t at = row * width + j, from = position * width + j;
      m1[at] = beta1 * m1[at] + (1 - beta1) * g[from];
      p[at] += lr() * factor * m1[at];
      if (step_out != nullptr) step_out[from] = factor * m1[at];
    }
    team.Wait();
  }
};
struct MomentumRow {
  static constexpr const char* kName = "SparseMomentumSGDUpdate";
  int64_t width;
  float momentum, a, b;  // MomentumFactors
  Rate lr;
  const float* g;
  float *step_out, *m, *p;  // step_out may be g
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const int64_t at = row * width + j, from = position * width + j;
      const float old = m[at], next = momentum * old + lr() * g[from];
      const float step = a * next + b * old;
      m[at] = next;
      step_out[from] = step;
      p[at] -= step;
    }
  }
};
struct FtrlRow {
  static constexpr const char* kName = "SparseFtrl";
  int64_t width;
  FtrlRule rule;
  Rate alpha;
  const float* g;
  float *w, *state;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    const FtrlElements elements{rule,
                                alpha,
                                w + row * width,
                                state + 2 * row * width,
                                g + position * width,
                                w + row * width,
                                state + 2 * row * width};
    for (int64_t j = team.first(); j < width; j += team.step()) elements(j);
  }
};
struct AdadeltaRow {
  static constexpr const char* kName = "SparseAdadelta";
  int64_t width;
  float epsilon, decay;
  Rate lr;
  const float* g;
  float *p, *h, *d;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    const int64_t at = row * width;
    const AdadeltaElements elements{
        epsilon, decay, lr, p + at, h + at, d + at, g + position * width, p + at, h + at, d + at};
    for (int64_t j = team.first(); j < width; j += team.step()) elements(j);
  }
};

}  // namespace caffe2

// Optimizers whose rate depends on sums over the gradient, Storm, Wngrad and GFtrl, for the host
// and for devices (portable.h).
#pragma once

#include "operators/common/portable.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

// Storm's sum of squared gradients, with those of this step added to it, and what the step takes
// from it.
struct StormStep {
  static constexpr const char* kName = "StormStep";
  float momentum, beta;
  Rate lr;
  const float *squares, *sum;  // of this step, of those before
  float* sum_out;
  float *rate, *alpha;  // the rate, and the share of the old momentum's error that is dropped
  CAFFE2_PORTABLE void operator()(int64_t /*i*/) const {
    const float total = *sum + *squares;
    *sum_out = total;
    *rate = lr() / std::cbrt(beta + total);
    *alpha = momentum * *rate * *rate;
  }
};
struct StormElements {
  static constexpr const char* kName = "Storm";
  const float *rate, *alpha;
  const float *p, *m, *g;
  float *p_out, *m_out;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float moment = g[i] + (1 - *alpha) * (m[i] - g[i]);
    m_out[i] = moment;
    p_out[i] = p[i] + *rate * moment;
  }
};
struct StormRow {
  static constexpr const char* kName = "SparseStorm";
  int64_t width;
  const float *rate, *alpha, *g;
  float *p, *m;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    const int64_t at = row * width;
    const StormElements elements{rate, alpha, p + at, m + at, g + position * width, p + at, m + at};
    for (int64_t j = team.first(); j < width; j += team.step()) elements(j);
  }
};

// Wngrad: the rate lr / (b + epsilon), and b + |grad|^2 / (b + epsilon).
struct WngradStep {
  static constexpr const char* kName = "WngradStep";
  float epsilon;
  Rate lr;
  const float *squares, *b;
  float *b_out, *rate;
  CAFFE2_PORTABLE void operator()(int64_t /*i*/) const {
    const float old = *b, divisor = old + epsilon;
    *rate = lr() / divisor;
    *b_out = old + *squares / divisor;
  }
};
struct WngradElements {
  static constexpr const char* kName = "Wngrad";
  const float *rate, *p, *g;
  float *p_out, *update_out;  // the latter may be null
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float step = *rate * g[i];
    if (update_out != nullptr) update_out[i] = step;
    p_out[i] = p[i] + step;
  }
};
struct WngradRow {
  static constexpr const char* kName = "SparseWngrad";
  int64_t width;
  const float *rate, *g;
  float* p;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, int64_t position, Team team) const {
    const int64_t at = row * width;
    for (int64_t j = team.first(); j < width; j += team.step()) {
      p[at + j] += *rate * g[position * width + j];
    }
  }
};

// GFtrl's column j, one feature of `outputs` rows; n and z of each element lie in turn.
struct GFtrlColumns {
  static constexpr const char* kName = "GFtrl";
  int64_t outputs, features;
  FtrlRule rule;
  Rate alpha;
  const float *w, *state, *g;
  float *w_out, *state_out;
  CAFFE2_PORTABLE void operator()(int64_t j) const {
    const float rate = alpha();
    double squares = 0;
    for (int64_t i = j; i < outputs * features; i += features) {
      const float next = state[2 * i] + g[i] * g[i];
      const float sigma = (std::sqrt(next) - std::sqrt(state[2 * i])) / rate;
      const float moved = state[2 * i + 1] + g[i] - sigma * w[i];
      state_out[2 * i + 1] = moved;
      state_out[2 * i] = next;
      squares += double{moved} * moved;
    }
    const double norm = std::sqrt(squares);
    const double least = rule.lambda1 * std::sqrt(static_cast<double>(outputs));
    const double share = norm > least ? least / norm - 1 : 0;
    for (int64_t i = j; i < outputs * features; i += features) {
      const double divisor = (rule.beta + std::sqrt(state_out[2 * i])) / rate + rule.lambda2;
      w_out[i] = static_cast<float>(share * state_out[2 * i + 1] / divisor);
    }
  }
};

// y = factor x, and average += share (x - average).
struct ScaleElements {
  static constexpr const char* kName = "WeightScale";
  float factor;
  CAFFE2_PORTABLE float operator()(float x) const { return factor * x; }
};
struct MoveTowards {
  static constexpr const char* kName = "WeightAverage";
  float share;
  CAFFE2_PORTABLE float operator()(float average, float x) const {
    return average + share * (x - average);
  }
};

}  // namespace caffe2

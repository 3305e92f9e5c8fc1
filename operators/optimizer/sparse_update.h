// Updates of rows of a parameter by a rule (update_rule.h), for the host and for devices
// (host_device.h). Functors for UpdateRows (operators/common/update_rows.h): the gradient has a row
// for each position. P is the type of the parameter, float or float16.
#pragma once

#include "operators/common/sorted_rows.h"
#include "operators/optimizer/dense_update.h"

// A pragma for the host's compiler.
#ifdef __CUDACC__
#define CAFFE2_HOST_PRAGMA(...)
#else
#define CAFFE2_HOST_PRAGMA(...) _Pragma(#__VA_ARGS__)
#endif

namespace caffe2 {

// Updates rows element by element, like the dense update. On the host UpdateRows uses the loops of
// update_loops.h.
template <class Rule, typename P = float>
struct SparseUpdate {
  static constexpr const char* kName = Rule::kName;
  static constexpr bool kRowWise = false;
  int64_t width;
  DenseUpdate<Rule, P, float> elements;

  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t position, Team team) const {
    const UpdateScalars scalars = elements.Scalars();
    for (int64_t j = team.first(); j < width; j += team.step()) {
      elements.Update(row * width + j, position * width + j, scalars, /*skip=*/false);
    }
  }
};

// The gradient that a rule sees: g with weight decay, if the rule has it.
template <class Rule>
CAFFE2_HOST_DEVICE float GradientOf(const Rule& /*rule*/, float g, float /*p*/) {
  return g;
}
template <class Rule>
CAFFE2_HOST_DEVICE float GradientOf(const WithWeightDecay<Rule>& rule, float g, float p) {
  return g + rule.weight_decay * p;
}

// The last state has one number for each row. The rule accumulates the root mean square of the
// row's gradient into this number, and all elements of the row share the divisor that follows from
// it.
template <class Rule, typename P = float>
struct RowWiseUpdate {
  static constexpr const char* kName = Rule::kName;
  static constexpr bool kRowWise = true;
  static constexpr int kLast = Rule::kStates - 1;
  int64_t width;
  DenseUpdate<Rule, P, float> elements;

  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t position, Team team) const {
    const DenseUpdate<Rule, P, float> u = elements;
    const P* p = u.param + row * width;
    const float* g = u.grad + position * width;
    float squares = 0;
    CAFFE2_HOST_PRAGMA(omp simd reduction(+ : squares))
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const float gradient = GradientOf(u.rule, g[j], host_device::Widen(p[j]));
      squares += gradient * gradient;
    }
    squares = team.Sum(squares);
    const float mean = width == 0 ? 0.f : squares / static_cast<float>(width);
    const float shared = u.rule.Accumulate(u.state[kLast][row], std::sqrt(mean));
    team.Sync();  // all have read it
    if (team.leader()) u.state_out[kLast][row] = shared;
    const UpdateScalars scalars = u.Scalars();
    const float divisor = u.rule.Divisor(shared);
    CAFFE2_HOST_PRAGMA(omp simd)
    for (int64_t j = team.first(); j < width; j += team.step()) {
      Move(u, row * width + j, position * width + j, scalars, divisor);
    }
    team.Sync();
  }

 private:
  CAFFE2_HOST_DEVICE static void Move(const DenseUpdate<Rule, P, float>& u, int64_t at,
                                      int64_t from, const UpdateScalars& scalars, float divisor) {
    float own[Rule::kStates];
    for (int s = 0; s < kLast; ++s) own[s] = u.state[s][at];
    const float p = host_device::Widen(u.param[at]);
    const Updated updated =
        u.rule.Step(scalars, divisor, GradientOf(u.rule, u.grad[from], p), p, own);
    for (int s = 0; s < kLast; ++s) u.state_out[s][at] = own[s];
    if (u.step_out != nullptr) u.step_out[from] = updated.step;
    u.param_out[at] = host_device::Narrow<P>(updated.param);
  }
};

// RowWiseSparseAdagrad: multiplies the weight decay of a row by halflife / its count of recent
// updates (RowWiseCounter), so that rarely updated rows decay more.
template <typename P>
struct CountedAdagradUpdate {
  using Rule = WithWeightDecay<AdagradRule>;
  static constexpr const char* kName = Rule::kName;
  int64_t width;
  RowWiseUpdate<Rule, P> update;
  const double* counts = nullptr;  // of each row; null: all rows decay equally
  double halflife = 0;             // not positive: all rows decay equally

  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t position, Team team) const {
    RowWiseUpdate<Rule, P> own = update;
    if (counts != nullptr && halflife > 0 && counts[row] > 0) {
      own.elements.rule.weight_decay =
          static_cast<float>(halflife / counts[row] * own.elements.rule.weight_decay);
    }
    own(row, position, team);
  }
};

// Updates rows for all iterations since their last gradient.
struct SmartDecayAdamUpdate {
  static constexpr const char* kName = SmartDecayAdamRule::kName;
  int64_t width;
  SparseUpdate<SmartDecayAdamRule> update;
  int64_t now;         // the iteration, from 1
  int64_t* last_seen;  // of each row

  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, int64_t position, Team team) const {
    SparseUpdate<SmartDecayAdamRule> own = update;
    own.elements.rule = own.elements.rule.After(static_cast<float>(now - last_seen[row]));
    team.Sync();  // all have read it
    if (team.leader()) last_seen[row] = now;
    own(row, position, team);
    team.Sync();
  }
};

}  // namespace caffe2

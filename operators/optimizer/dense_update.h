// Updates of the elements of a parameter by a rule (update_rule.h), for the host and for devices
// (host_device.h).
#pragma once

#include "operators/common/rate.h"
#include "operators/optimizer/update_rule.h"

namespace caffe2 {

// P is the type of the parameter, G the type of the gradient and the step, S the type of the
// states. Arithmetic on 16-bit types is in float. An output may overwrite the corresponding input.
// This is a functor for ForEach; on the host ForEach uses the loops of update_loops.h.
template <class R, typename P = float, typename G = P, typename S = G>
struct DenseUpdate {
  using Rule = R;
  static constexpr const char* kName = Rule::kName;
  static constexpr int kStates = Rule::kStates;
  static constexpr int kStride = kStateStride<Rule>;

  Rule rule = {};
  Rate lr = {}, correction = {nullptr, 1.f};
  const float* found_inf = nullptr;  // if *found_inf != 0, elements stay and steps are 0
  const G* grad = nullptr;
  const P* param = nullptr;  // null: another operator updates the parameter
  P* param_out = nullptr;
  const S* state[kStates > 0 ? kStates : 1] = {};
  S* state_out[kStates > 0 ? kStates : 1] = {};
  G* step_out = nullptr;  // may be null

  CAFFE2_HOST_DEVICE UpdateScalars Scalars() const { return {lr(), correction()}; }
  CAFFE2_HOST_DEVICE bool Skips() const { return found_inf != nullptr && *found_inf != 0; }

  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { Update(i, i, Scalars(), Skips()); }

  // Updates element `at` of the parameter and states by element `from` of the gradient, and writes
  // element `from` of the step.
  CAFFE2_HOST_DEVICE void Update(int64_t at, int64_t from, const UpdateScalars& scalars,
                                 bool skip) const {
    float own[kStates > 0 ? kStates : 1];
    for (int s = 0; s < kStates; ++s) own[s] = host_device::Widen(state[s][at * kStride]);
    const float old = param != nullptr ? host_device::Widen(param[at]) : 0.f;
    const Updated updated =
        skip ? Updated{old, 0.f} : rule.Update(scalars, host_device::Widen(grad[from]), old, own);
    for (int s = 0; s < kStates; ++s) state_out[s][at * kStride] = host_device::Narrow<S>(own[s]);
    if (step_out != nullptr) step_out[from] = host_device::Narrow<G>(updated.step);
    if (param != nullptr) param_out[at] = host_device::Narrow<P>(updated.param);
  }
};

// The learning rate of each element in Adagrad's last step.
struct AdagradRates {
  static constexpr const char* kName = "AdagradRates";
  AdagradRule rule;
  Rate lr;
  const float* moment;
  float* rate;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { rate[i] = lr() / rule.Divisor(moment[i]); }
};

}  // namespace caffe2

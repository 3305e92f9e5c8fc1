// Update rules: how optimizers update one element of a parameter, for the host and for devices
// (host_device.h). Each formula exists only here. Dense, sparse and row-wise updates and updates of
// many parameters at once call the rules (dense_update.h, sparse_update.h, multi_update_op.h). The
// documentation of the operators states the formulas.
//
// A rule is plain data: the arguments of its operator. Update changes the state of an element and
// returns its new parameter and its step. The operator decides the sign of the learning rate and
// whether the step includes the rate.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The scalars that all elements of a run share.
struct UpdateScalars {
  float lr = 0;
  float correction = 1;  // Correction(iteration) of rules that have it
};

// The new value of a parameter and the step that led to it.
struct Updated {
  float param, step;
};

// Rules whose steps depend on the iteration, which counts from 0.
template <class Rule>
concept CorrectedRule = requires(const Rule& rule, int64_t iteration) {
  rule.Correction(iteration);
};

// The next running mean of numbers, or of their squares. `keep` is the share of the old mean.
CAFFE2_HOST_DEVICE inline float MoveMean(float keep, float mean, float share, float x) {
  return keep * mean + share * x;
}
CAFFE2_HOST_DEVICE inline float MoveMeanSquare(float keep, float mean, float share, float x) {
  return keep * mean + share * x * x;
}

// m' = momentum m + lr g.
struct MomentumSgdRule {
  static constexpr int kStates = 1;
  static constexpr const char* kName = "MomentumSGD";
  static constexpr const char* kStateNames[] = {"momentum"};

  // The step is m' or, in Nesterov's form, (1 + momentum) m' - momentum m; either is a m' + b m.
  float momentum = 0, a = 1, b = 0;
  CAFFE2_HOST_DEVICE static MomentumSgdRule Make(float momentum, bool nesterov) {
    return {momentum, nesterov ? 1 + momentum : 1.f, nesterov ? -momentum : 0.f};
  }

  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    const float old = state[0];
    state[0] = momentum * old + scalars.lr * g;
    const float step = a * state[0] + b * old;
    return {p - step, step};
  }
};

struct AdamRule {
  static constexpr int kStates = 2;
  static constexpr const char* kName = "Adam";
  static constexpr const char* kStateNames[] = {"moment_1", "moment_2"};
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-5f;
  bool decoupled_weight_decay = false;  // of WithWeightDecay

  float Correction(int64_t iteration) const {
    const auto t = static_cast<double>(iteration + 1);
    return static_cast<float>(std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t)));
  }

  // The moments; `keep` is beta1 or beta2, or a power of it if more iterations have passed.
  CAFFE2_HOST_DEVICE float First(float keep, float first, float g) const {
    return MoveMean(keep, first, 1 - beta1, g);
  }
  CAFFE2_HOST_DEVICE float Second(float keep, float second, float g) const {
    return MoveMeanSquare(keep, second, 1 - beta2, g);
  }
  CAFFE2_HOST_DEVICE float Divisor(float second) const { return std::sqrt(second) + epsilon; }

  // Update in two parts: rows may share the first (RowWiseUpdate).
  CAFFE2_HOST_DEVICE float Accumulate(float second, float g) const {
    return Second(beta2, second, g);
  }
  CAFFE2_HOST_DEVICE Updated Step(const UpdateScalars& scalars, float divisor, float g, float p,
                                  float* state) const {
    state[0] = First(beta1, state[0], g);
    const float step = scalars.correction * state[0] / divisor;
    return {p + scalars.lr * step, step};
  }
  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    state[1] = Accumulate(state[1], g);
    return Step(scalars, Divisor(state[1]), g, p, state);
  }
};

// Rectified Adam (Liu et al., 2019) at one iteration: the first moment times `factor` and, if the
// variance of the second moment is tractable, divided by its root.
struct RectifiedAdamRule {
  static constexpr int kStates = AdamRule::kStates;
  static constexpr const char* kName = "RectifiedAdam";
  static constexpr auto& kStateNames = AdamRule::kStateNames;
  AdamRule adam = {};
  float factor = 0;
  bool tractable = false;

  static RectifiedAdamRule At(const AdamRule& adam, int64_t iteration) {
    const double t = static_cast<double>(iteration + 1), beta2 = adam.beta2;
    const double power = std::pow(beta2, t), max = 2 / (1 - beta2) - 1;
    const double length = max - 2 * t * power / (1 - power);
    const double plain = 1 / (1 - std::pow(static_cast<double>(adam.beta1), t));
    if (length < 5) return {adam, static_cast<float>(plain), false};
    const double ratio = (length - 4) * (length - 2) * max / ((max - 4) * (max - 2) * length);
    return {adam, static_cast<float>(plain * std::sqrt(1 - power) * std::sqrt(ratio)), true};
  }
  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    state[1] = adam.Accumulate(state[1], g);
    const float divisor = tractable ? adam.Divisor(state[1]) : 1.f;
    return adam.Step({scalars.lr, factor}, divisor, g, p, state);
  }
};

// Adam for several iterations at once, of which only the last has a gradient. In the n iterations
// before that one, only the first moment moves the parameter: by the sum of moment_1 beta1^i for i
// from 1 to n, divided by the root of the current second moment.
struct SmartDecayAdamRule {
  static constexpr int kStates = AdamRule::kStates;
  static constexpr const char* kName = "SmartDecayAdam";
  static constexpr auto& kStateNames = AdamRule::kStateNames;
  AdamRule adam = {};
  float keep1 = 0, keep2 = 0;  // beta1 and beta2 to the power of all iterations
  float missed = 0;            // the sum of beta1^i

  CAFFE2_HOST_DEVICE SmartDecayAdamRule After(float iterations) const {
    const float beta1 = adam.beta1;
    return {adam, std::pow(beta1, iterations), std::pow(adam.beta2, iterations),
            iterations > 1 ? beta1 * (1 - std::pow(beta1, iterations - 1)) / (1 - beta1) : 0.f};
  }
  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    const float caught_up = missed * state[0];
    state[0] = adam.First(keep1, state[0], g);
    state[1] = adam.Second(keep2, state[1], g);
    const float step = (state[0] + caught_up) / adam.Divisor(state[1]);
    return {p + scalars.lr * step, step};
  }
};

// The step is added to the parameter.
struct AdagradRule {
  static constexpr int kStates = 1;
  static constexpr const char* kName = "Adagrad";
  static constexpr const char* kStateNames[] = {"moment"};
  float epsilon = 1e-5f, decay = 1;

  CAFFE2_HOST_DEVICE float Accumulate(float moment, float g) const {
    return decay * moment + g * g;
  }
  CAFFE2_HOST_DEVICE float Divisor(float moment) const { return std::sqrt(moment) + epsilon; }
  CAFFE2_HOST_DEVICE Updated Step(const UpdateScalars& scalars, float divisor, float g, float p,
                                  float* /*state*/) const {
    const float step = scalars.lr * g / divisor;
    return {p + step, step};
  }
  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    state[0] = Accumulate(state[0], g);
    return Step(scalars, Divisor(state[0]), g, p, state);
  }
};

// Adagrad with a first moment and decoupled weight decay.
struct DecayAdagradRule {
  static constexpr int kStates = 2;
  static constexpr const char* kName = "DecayAdagrad";
  static constexpr const char* kStateNames[] = {"moment_1", "moment_2"};
  AdagradRule squares = {};
  float beta1 = 0.9f, weight_decay = 0;
  bool corrected = true;  // of the bias of the first moment

  float Correction(int64_t iteration) const {
    const auto t = static_cast<double>(iteration) + 1;
    return corrected ? static_cast<float>(1 / (1 - std::pow(beta1, t))) : 1.f;
  }
  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    state[0] = MoveMean(beta1, state[0], 1 - beta1, g);
    state[1] = squares.Accumulate(state[1], g);
    const float step = scalars.correction * state[0] / squares.Divisor(state[1]) + weight_decay * p;
    return {p + scalars.lr * step, step};
  }
};

// The step is part of the state.
struct RmsPropRule {
  static constexpr int kStates = 2;
  static constexpr const char* kName = "RmsProp";
  static constexpr const char* kStateNames[] = {"mean squares", "momentum"};
  float decay = 0.9f, momentum = 0, epsilon = 1e-5f;

  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    state[0] += (1 - decay) * (g * g - state[0]);
    state[1] = momentum * state[1] + scalars.lr * g / std::sqrt(epsilon + state[0]);
    return {p + state[1], state[1]};
  }
};

struct AdadeltaRule {
  static constexpr int kStates = 2;
  static constexpr const char* kName = "Adadelta";
  static constexpr const char* kStateNames[] = {"moment", "moment_delta"};
  float epsilon = 1e-5f, decay = 0.95f;

  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    state[0] = MoveMeanSquare(decay, state[0], 1 - decay, g);
    const float step = std::sqrt(state[1] + epsilon) / std::sqrt(state[0] + epsilon) * g;
    state[1] = MoveMeanSquare(decay, state[1], 1 - decay, step);
    return {p + scalars.lr * step, step};
  }
};

// The states n and z of an element are next to each other. The rate is alpha.
struct FtrlRule {
  static constexpr int kStates = 2;
  static constexpr const char* kName = "Ftrl";
  static constexpr const char* kStateNames[] = {"n_z"};
  float beta = 1, lambda1 = 0.001f, lambda2 = 0.001f;

  CAFFE2_HOST_DEVICE void Accumulate(float inverse_alpha, float g, float w, float* state) const {
    const float square = g * g, next = state[0] + square;
    // The difference of the roots, without cancellation.
    const float roots = std::sqrt(next) + std::sqrt(state[0]);
    const float sigma = roots == 0 ? 0 : square / roots * inverse_alpha;
    state[0] = next;
    state[1] = state[1] + g - sigma * w;
  }
  CAFFE2_HOST_DEVICE float Divisor(float inverse_alpha, float n) const {
    return (beta + std::sqrt(n)) * inverse_alpha + lambda2;
  }
  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float w,
                                    float* state) const {
    const float inverse = 1 / scalars.lr;
    Accumulate(inverse, g, w, state);
    const float z = state[1];
    const float next =
        std::fabs(z) > lambda1 ? (std::copysign(lambda1, z) - z) / Divisor(inverse, state[0]) : 0;
    return {next, next - w};
  }
};
// The distance, in elements, between the states of two neighbouring elements of a parameter.
template <class Rule>
inline constexpr int kStateStride = 1;
template <>
inline constexpr int kStateStride<FtrlRule> = FtrlRule::kStates;

// The correction is the share of the old momentum's error that is dropped.
struct StormRule {
  static constexpr int kStates = 1;
  static constexpr const char* kName = "Storm";
  static constexpr const char* kStateNames[] = {"moment"};

  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    state[0] = g + (1 - scalars.correction) * (state[0] - g);
    const float step = scalars.lr * state[0];
    return {p + step, step};
  }
};

// Descent at a rate that all elements share. The step is added to the parameter.
struct WngradRule {
  static constexpr int kStates = 0;
  static constexpr const char* kName = "Wngrad";

  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* /*state*/) const {
    const float step = scalars.lr * g;
    return {p + step, step};
  }
};

// A rule with weight_decay * param added to the gradient.
template <class Rule>
struct WithWeightDecay : Rule {
  float weight_decay = 0;

  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    return Rule::Update(scalars, g + weight_decay * p, p, state);
  }
};

// Adam with weight decay. Decoupled decay (Loshchilov and Hutter, "Decoupled weight decay
// regularization", 2019) shrinks the parameter itself, by the share rate x decay, and does not
// enter the moments.
template <>
struct WithWeightDecay<AdamRule> : AdamRule {
  float weight_decay = 0;

  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    // Values, not branches, so that loops become vector code.
    const float gradient = decoupled_weight_decay ? g : g + weight_decay * p;
    const bool shrinks = decoupled_weight_decay && weight_decay != 0;
    const float shrunk = shrinks ? p + scalars.lr * weight_decay * p : p;
    return AdamRule::Update(scalars, gradient, shrunk, state);
  }
};

// A rule that first divides the gradient by `scale`.
template <class Rule>
struct WithScaledGradient : Rule {
  float scale = 1;

  CAFFE2_HOST_DEVICE Updated Update(const UpdateScalars& scalars, float g, float p,
                                    float* state) const {
    return Rule::Update(scalars, g / scale, p, state);
  }
};

}  // namespace caffe2

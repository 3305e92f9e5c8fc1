// What the optimizers do to one element of a parameter, the same on all devices. Each rule changes
// the element's state and returns what is added to the parameter; the formulas stand in the
// documentation of MomentumSGDUpdate, Adam, Adagrad and RmsProp.
#pragma once

#include <cmath>

#include "operators/common/host_device.h"

namespace caffe2 {

// What all elements of a run have in common.
struct UpdateScalars {
  float lr = 0;
  float correction = 1;  // of Adam: sqrt(1 - beta2^t) / (1 - beta1^t)
};

struct MomentumSgdRule {
  static constexpr int kStates = 1;
  static constexpr bool kCorrected = false;
  static constexpr const char* kStateNames[] = {"momentum"};
  float momentum = 0, a = 1, b = 0;  // MomentumFactors (operators/optimizer/momentum_sgd_op.h)

  CAFFE2_HOST_DEVICE float Change(const UpdateScalars& scalars, float g, float* state) const {
    const float old = state[0];
    state[0] = momentum * old + scalars.lr * g;
    return -(a * state[0] + b * old);
  }
};

struct AdamRule {
  static constexpr int kStates = 2;
  static constexpr bool kCorrected = true;
  static constexpr const char* kStateNames[] = {"moment_1", "moment_2"};
  float beta1 = 0, beta2 = 0, epsilon = 0;

  CAFFE2_HOST_DEVICE float Change(const UpdateScalars& scalars, float g, float* state) const {
    state[0] = beta1 * state[0] + (1 - beta1) * g;
    state[1] = beta2 * state[1] + (1 - beta2) * g * g;
    return scalars.lr * (scalars.correction * state[0] / (sqrtf(state[1]) + epsilon));
  }
};

struct AdagradRule {
  static constexpr int kStates = 1;
  static constexpr bool kCorrected = false;
  static constexpr const char* kStateNames[] = {"moment"};
  float epsilon = 0, decay = 1;

  CAFFE2_HOST_DEVICE float Change(const UpdateScalars& scalars, float g, float* state) const {
    state[0] = decay * state[0] + g * g;
    return scalars.lr * g / (sqrtf(state[0]) + epsilon);
  }
};

struct RmsPropRule {
  static constexpr int kStates = 2;
  static constexpr bool kCorrected = false;
  static constexpr const char* kStateNames[] = {"mean squares", "momentum"};
  float decay = 0, momentum = 0, epsilon = 0;

  CAFFE2_HOST_DEVICE float Change(const UpdateScalars& scalars, float g, float* state) const {
    state[0] += (1 - decay) * (g * g - state[0]);
    state[1] = momentum * state[1] + scalars.lr * g / sqrtf(epsilon + state[0]);
    return state[1];
  }
};

}  // namespace caffe2

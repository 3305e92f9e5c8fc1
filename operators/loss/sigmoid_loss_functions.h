// Binary cross entropies of logits, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/softplus.h"

namespace caffe2 {

// Losses of a logit x and a target t, with s = sigmoid(x).
enum class SigmoidLoss {
  kCrossEntropy,  // -(t log s + (1 - t) log(1 - s))
  kLogD,          // (1 - 2 t) log s: a generator's loss whose gradient does not vanish
  kUnjoined,      // -(t x + (1 - t) log(1 - s)): each positive also appears as a negative
};

template <typename Number>
CAFFE2_HOST_DEVICE Number SigmoidLossOf(SigmoidLoss loss, Number x, Number t) {
  switch (loss) {
    case SigmoidLoss::kLogD:
      return (2 * t - 1) * host_device::Softplus(-x);
    case SigmoidLoss::kUnjoined:
      return -t * x + (1 - t) * host_device::Softplus(x);
    case SigmoidLoss::kCrossEntropy:
      break;
  }
  return host_device::Softplus(x) - t * x;
}

// d loss / d x
template <typename Number>
CAFFE2_HOST_DEVICE Number SigmoidLossGradientOf(SigmoidLoss loss, Number x, Number t) {
  switch (loss) {
    case SigmoidLoss::kLogD:
      return -(2 * t - 1) * host_device::Sigmoid(-x);
    case SigmoidLoss::kUnjoined:
      return -t + (1 - t) * host_device::Sigmoid(x);
    case SigmoidLoss::kCrossEntropy:
      break;
  }
  return host_device::Sigmoid(x) - t;
}

// y[row] = the mean over the row of weight * loss; weights may be null.
template <typename T>
struct SigmoidLossRows {
  static constexpr const char* kName = "SigmoidCrossEntropyWithLogits";
  SigmoidLoss loss;
  int64_t width;
  const T *x, *t, *weight;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    using Number = typename Team::Number;
    Number sum = 0;
    for (int64_t j = team.first(); j < width; j += team.step()) {
      const int64_t at = row * width + j;
      const Number value =
          SigmoidLossOf<Number>(loss, host_device::Widen(x[at]), host_device::Widen(t[at]));
      sum += weight == nullptr ? value : host_device::Widen(weight[at]) * value;
    }
    sum = team.Sum(sum);
    if (team.leader()) y[row] = host_device::Narrow<T>(sum / static_cast<Number>(width));
  }
};
// dx[i] = dy[row of i] / width * weight * d loss / d x
template <typename T>
struct SigmoidLossGradient {
  static constexpr const char* kName = "SigmoidCrossEntropyWithLogitsGradient";
  SigmoidLoss loss;
  int64_t width;
  const T *dy, *x, *t, *weight;
  T* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const float gradient =
        SigmoidLossGradientOf<float>(loss, host_device::Widen(x[i]), host_device::Widen(t[i]));
    const float share = host_device::Widen(dy[i / width]) / static_cast<float>(width);
    dx[i] = host_device::Narrow<T>(
        share * (weight == nullptr ? gradient : host_device::Widen(weight[i]) * gradient));
  }
};

}  // namespace caffe2

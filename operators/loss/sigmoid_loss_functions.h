// Binary cross entropies of logits, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device_math.h"
#include "operators/common/softplus.h"

namespace caffe2 {

// Losses of a logit x and a target t, with s = sigmoid(x).
enum class SigmoidLoss {
  kCrossEntropy,  // -(t log s + (1 - t) log(1 - s))
  kLogD,          // (1 - 2 t) log s: a generator's loss whose gradient does not vanish
  kUnjoined,      // -(t x + (1 - t) log(1 - s)): each positive also appears as a negative
};

// The functions are computed as N, the rest as Number.
template <SigmoidLoss kLoss, typename N, typename Number>
CAFFE2_HOST_DEVICE_INLINE Number SigmoidLossOf(N x, Number t) {
  if constexpr (kLoss == SigmoidLoss::kLogD) {
    return (2 * t - 1) * host_device::WideSoftplus<Number>(-x);
  } else if constexpr (kLoss == SigmoidLoss::kUnjoined) {
    return -t * x + (1 - t) * host_device::WideSoftplus<Number>(x);
  } else {
    return host_device::WideSoftplus<Number>(x) - t * x;
  }
}

// d loss / d x
template <SigmoidLoss kLoss>
CAFFE2_HOST_DEVICE_INLINE float SigmoidLossGradientOf(float x, float t) {
  if constexpr (kLoss == SigmoidLoss::kLogD) {
    return -(2 * t - 1) * host_device::Sigmoid(-x);
  } else if constexpr (kLoss == SigmoidLoss::kUnjoined) {
    return -t + (1 - t) * host_device::Sigmoid(x);
  } else {
    return host_device::Sigmoid(x) - t;
  }
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
    const auto sum =
        host_device::IsShortRow(width) ? Sum<Number>(row, team) : Sum<float>(row, team);
    if (team.leader()) {
      y[row] = host_device::Narrow<T>(sum / static_cast<Number>(width));
    }
  }

 private:
  // With functions of N.
  template <typename N, class Team>
  CAFFE2_HOST_DEVICE typename Team::Number Sum(int64_t row, Team team) const {
    return loss == SigmoidLoss::kLogD       ? Sum<N, SigmoidLoss::kLogD>(row, team)
           : loss == SigmoidLoss::kUnjoined ? Sum<N, SigmoidLoss::kUnjoined>(row, team)
                                            : Sum<N, SigmoidLoss::kCrossEntropy>(row, team);
  }
  template <typename N, SigmoidLoss kLoss, class Team>
  CAFFE2_HOST_DEVICE typename Team::Number Sum(int64_t row, Team team) const {
    using Number = typename Team::Number;
    const T *logit = x + row * width, *target = t + row * width;
    const auto term = [=](int64_t j) {
      return SigmoidLossOf<kLoss, N, Number>(host_device::Widen(logit[j]),
                                             host_device::Widen(target[j]));
    };
    if (weight == nullptr) return host_device::SumOver(team, width, term);
    const T* factor = weight + row * width;
    return host_device::SumOver(team, width,
                                [=](int64_t j) { return host_device::Widen(factor[j]) * term(j); });
  }
};
// dx = dy[row] / width * weight * d loss / d x
template <typename T>
struct SigmoidLossGradientRows {
  static constexpr const char* kName = "SigmoidCrossEntropyWithLogitsGradient";
  SigmoidLoss loss;
  int64_t width;
  const T *dy, *x, *t, *weight;
  T* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    loss == SigmoidLoss::kLogD       ? Write<SigmoidLoss::kLogD>(row, team)
    : loss == SigmoidLoss::kUnjoined ? Write<SigmoidLoss::kUnjoined>(row, team)
                                     : Write<SigmoidLoss::kCrossEntropy>(row, team);
  }

 private:
  template <SigmoidLoss kLoss, class Team>
  CAFFE2_HOST_DEVICE void Write(int64_t row, Team team) const {
    const T *logit = x + row * width, *target = t + row * width;
    T* const to = dx + row * width;
    const float share = host_device::Widen(dy[row]) / static_cast<float>(width);
    const auto gradient = [=](int64_t j) {
      return SigmoidLossGradientOf<kLoss>(host_device::Widen(logit[j]),
                                          host_device::Widen(target[j]));
    };
    if (weight == nullptr) {
      host_device::ForEachOf(
          team, width, [=](int64_t j) { to[j] = host_device::Narrow<T>(share * gradient(j)); });
    } else {
      const T* factor = weight + row * width;
      host_device::ForEachOf(team, width, [=](int64_t j) {
        to[j] = host_device::Narrow<T>(share * (host_device::Widen(factor[j]) * gradient(j)));
      });
    }
  }
};

}  // namespace caffe2

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

// The functions are computed as float, the rest as Number.
template <SigmoidLoss kLoss, typename Number>
CAFFE2_HOST_DEVICE_INLINE Number SigmoidLossOf(float x, Number t) {
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

// The loss of logit i, times its weight with kWeighted.
template <SigmoidLoss kLoss, bool kWeighted, typename Number, typename T>
struct SigmoidLossTerm {
  const T *x, *t, *weight;
  CAFFE2_HOST_DEVICE_INLINE Number operator()(int64_t i) const {
    const auto loss =
        SigmoidLossOf<kLoss, Number>(host_device::Widen(x[i]), host_device::Widen(t[i]));
    if constexpr (kWeighted) {
      return host_device::Widen(weight[i]) * loss;
    } else {
      return loss;
    }
  }
};

// y[row] = the mean over the row of weight * loss; weights may be null. Run it by ForEachRowSum.
template <typename T>
struct SigmoidLossRows {
  static constexpr const char* kName = "SigmoidCrossEntropyWithLogits";
  SigmoidLoss loss;
  int64_t width;
  const T *x, *t, *weight;
  T* y;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const int64_t first = row * width, n = width;
    const auto sum = WithTerm<typename Team::Number>([=](auto term) {
      return host_device::SumOver(team, n, [=](int64_t j) { return term(first + j); });
    });
    if (team.leader()) Finish(row, sum);
  }
  template <typename Number, class Use>
  CAFFE2_HOST_DEVICE Number WithTerm(const Use& use) const {
    return loss == SigmoidLoss::kLogD       ? WithTermOf<SigmoidLoss::kLogD, Number>(use)
           : loss == SigmoidLoss::kUnjoined ? WithTermOf<SigmoidLoss::kUnjoined, Number>(use)
                                            : WithTermOf<SigmoidLoss::kCrossEntropy, Number>(use);
  }
  template <typename Number>
  CAFFE2_HOST_DEVICE void Finish(int64_t row, Number sum) const {
    y[row] = host_device::Narrow<T>(sum / static_cast<Number>(width));
  }

 private:
  template <SigmoidLoss kLoss, typename Number, class Use>
  CAFFE2_HOST_DEVICE Number WithTermOf(const Use& use) const {
    return weight == nullptr ? use(SigmoidLossTerm<kLoss, false, Number, T>{x, t, weight})
                             : use(SigmoidLossTerm<kLoss, true, Number, T>{x, t, weight});
  }
};

// dx[i] = the factor of its row * weight * d loss / d x
template <SigmoidLoss kLoss, bool kWeighted, typename T>
struct SigmoidLossGradientBody {
  const T *x, *t, *weight;
  T* dx;
  CAFFE2_HOST_DEVICE_INLINE void operator()(int64_t i, float factor) const {
    const float gradient =
        SigmoidLossGradientOf<kLoss>(host_device::Widen(x[i]), host_device::Widen(t[i]));
    if constexpr (kWeighted) {
      dx[i] = host_device::Narrow<T>(factor * (host_device::Widen(weight[i]) * gradient));
    } else {
      dx[i] = host_device::Narrow<T>(factor * gradient);
    }
  }
};
// The factor of a row is dy[row] / width. Run it by ForEachRowElement.
template <typename T>
struct SigmoidLossGradientRows {
  static constexpr const char* kName = "SigmoidCrossEntropyWithLogitsGradient";
  SigmoidLoss loss;
  int64_t width;
  const T *dy, *x, *t, *weight;
  T* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const int64_t first = row * width, n = width;
    const float factor = Factor(row);
    WithBody([=](auto body) {
      host_device::ForEachOf(team, n, [=](int64_t j) { body(first + j, factor); });
    });
  }
  CAFFE2_HOST_DEVICE float Factor(int64_t row) const {
    return host_device::Widen(dy[row]) / static_cast<float>(width);
  }
  template <class Use>
  CAFFE2_HOST_DEVICE void WithBody(const Use& use) const {
    loss == SigmoidLoss::kLogD       ? WithBodyOf<SigmoidLoss::kLogD>(use)
    : loss == SigmoidLoss::kUnjoined ? WithBodyOf<SigmoidLoss::kUnjoined>(use)
                                     : WithBodyOf<SigmoidLoss::kCrossEntropy>(use);
  }

 private:
  template <SigmoidLoss kLoss, class Use>
  CAFFE2_HOST_DEVICE void WithBodyOf(const Use& use) const {
    weight == nullptr ? use(SigmoidLossGradientBody<kLoss, false, T>{x, t, weight, dx})
                      : use(SigmoidLossGradientBody<kLoss, true, T>{x, t, weight, dx});
  }
};

}  // namespace caffe2

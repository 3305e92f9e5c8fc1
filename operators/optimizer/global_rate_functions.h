// Storm, Wngrad and GFtrl, whose rates depend on sums over the gradient, for the host and for
// devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"
#include "operators/optimizer/dense_update.h"

namespace caffe2 {

// Adds the squared gradients of this step to Storm's sum, and computes the scalars of the step.
struct StormStep {
  static constexpr const char* kName = "StormStep";
  float momentum, beta;
  Rate lr;
  const float *squares, *sum;  // of this step, of the earlier steps
  float* sum_out;
  float *rate, *alpha;  // the rate, and the share of the old momentum's error that is dropped
  CAFFE2_HOST_DEVICE void operator()(int64_t /*i*/) const {
    const float total = *sum + *squares;
    *sum_out = total;
    *rate = lr() / std::cbrt(beta + total);
    *alpha = momentum * *rate * *rate;
  }
};

// Wngrad: the rate lr / (b + epsilon), and the new b, b + |grad|^2 / (b + epsilon).
struct WngradStep {
  static constexpr const char* kName = "WngradStep";
  float epsilon;
  Rate lr;
  const float *squares, *b;
  float *b_out, *rate;
  CAFFE2_HOST_DEVICE void operator()(int64_t /*i*/) const {
    const float old = *b, divisor = old + epsilon;
    *rate = lr() / divisor;
    *b_out = old + *squares / divisor;
  }
};

// Updates column j of the parameter [outputs, features]: the weights of one feature.
struct GFtrlColumns {
  static constexpr const char* kName = "GFtrl";
  int64_t outputs, features;
  DenseUpdate<FtrlRule> elements;
  CAFFE2_HOST_DEVICE void operator()(int64_t j) const {
    const auto& u = elements;
    const float inverse = 1 / u.lr();
    double squares = 0;
    for (int64_t i = j; i < outputs * features; i += features) {
      float own[] = {u.state[0][2 * i], u.state[1][2 * i]};
      u.rule.Accumulate(inverse, u.grad[i], u.param[i], own);
      u.state_out[0][2 * i] = own[0];
      u.state_out[1][2 * i] = own[1];
      squares += double{own[1]} * own[1];
    }
    const double norm = std::sqrt(squares);
    const double min = u.rule.lambda1 * std::sqrt(static_cast<double>(outputs));
    const double share = norm > min ? min / norm - 1 : 0;
    for (int64_t i = j; i < outputs * features; i += features) {
      const double divisor = u.rule.Divisor(inverse, u.state_out[0][2 * i]);
      u.param_out[i] = static_cast<float>(share * u.state_out[1][2 * i] / divisor);
    }
  }
};

// average += share (x - average).
struct MoveTowards {
  static constexpr const char* kName = "WeightAverage";
  float share;
  CAFFE2_HOST_DEVICE float operator()(float average, float x) const {
    return average + share * (x - average);
  }
};

}  // namespace caffe2

// YellowFin, for the host and for devices (host_device.h).
#pragma once

#include "operators/optimizer/update_rule.h"

namespace caffe2 {

// average = beta * average + (1 - beta) * value.
struct MovingAverage {
  float beta;
  CAFFE2_HOST_DEVICE float Move(double value, float* average) const {
    *average = static_cast<float>(beta * *average + (1 - beta) * value);
    return *average;
  }
};

// One step of momentum SGD with the rate and momentum tuned so far. Also updates the averages of g
// and g^2.
struct YellowFinElements {
  static constexpr const char* kName = "YellowFin";
  MovingAverage averages;
  bool nesterov;
  const float *lr, *mu, *g;
  float *p, *m, *g_mean, *g2_mean;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const auto rule = MomentumSgdRule::Make(*mu, nesterov);
    p[i] = rule.Update({*lr}, g[i], p[i], m + i).param;
    averages.Move(double{g[i]} * g[i], g2_mean + i);
    averages.Move(g[i], g_mean + i);
  }
};

// Rate and momentum for the next iteration, from the sums of squares of the gradient and of its
// average.
struct YellowFinTune {
  static constexpr const char* kName = "YellowFinTune";
  // The positions of the moving averages in `scalars`.
  enum Scalar { kNorm, kNorm2, kLogMin, kLogMax, kDistance, kNumScalars };

  MovingAverage averages;
  float epsilon;
  double unbias;
  int64_t iter, window;
  const float *squares, *mean_squares;
  float *lr, *mu;
  float* curvature;  // a ring of log |g|^2
  float* scalars;

  CAFFE2_HOST_DEVICE void operator()(int64_t /*i*/) const {
    const double square = AtLeast(*squares, epsilon);
    const double norm2 = averages.Move(square, scalars + kNorm2);
    const double norm = averages.Move(std::sqrt(square), scalars + kNorm);
    // The range of curvatures over the last iterations.
    curvature[(iter - 1) % window] = static_cast<float>(std::log(square));
    float low = curvature[0], high = curvature[0];
    for (int64_t i = 1; i < (window < iter ? window : iter); ++i) {
      low = curvature[i] < low ? curvature[i] : low;
      high = curvature[i] > high ? curvature[i] : high;
    }
    const double min = Curvature(low, scalars + kLogMin);
    const double max = Curvature(high, scalars + kLogMax);
    const double variance =
        AtLeast(unbias * norm2 - unbias * unbias * double{*mean_squares}, epsilon);
    const double distance = unbias * averages.Move(norm / norm2, scalars + kDistance);
    if (iter > 1) SetRates(min, max, variance, distance);
  }

 private:
  CAFFE2_HOST_DEVICE static double AtLeast(double value, double min) {
    return value < min ? min : value;
  }
  CAFFE2_HOST_DEVICE double Curvature(float log_value, float* average) const {
    return AtLeast(std::exp(unbias * averages.Move(log_value, average)), epsilon);
  }
  // The momentum that minimizes the expected squared distance to the optimum after one step: the
  // root of the cubic p x = (1 - x)^3, x = sqrt(mu), but at least the momentum that the range of
  // curvatures requires.
  CAFFE2_HOST_DEVICE void SetRates(double min, double max, double variance, double distance) const {
    const double ratio = std::sqrt(max / min), bound = (ratio - 1) / (ratio + 1);
    const double pull = distance * min, p = pull * pull / (2 * variance);
    const double w = std::cbrt(-std::sqrt(p * p / 4 + p * p * p / 27) - p / 2);
    const double root = w == 0 ? 1 : 1 + w - p / (3 * w);
    const double momentum = AtLeast(root * root, bound * bound);
    const double rate = 1 - std::sqrt(momentum);
    averages.Move(momentum, mu);
    averages.Move(rate * rate / min, lr);
  }
};

}  // namespace caffe2

// Functions of elements, with parameters of their rows or columns, for the host and for devices
// (portable.h).
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

// The rest of a division, with the sign of x, or with that of the divisor.
struct ModValue {
  static constexpr const char* kName = "Mod";
  int64_t divisor;
  bool follow_divisor;
  template <typename T>
  CAFFE2_PORTABLE T operator()(T x) const {
    int64_t rest = divisor == -1 ? 0 : static_cast<int64_t>(x) % divisor;  // least int64 % -1 traps
    if (follow_divisor && rest != 0 && (rest < 0) != (divisor < 0)) rest += divisor;
    return static_cast<T>(rest);
  }
};

// One of two values; NaN lies above the threshold.
struct StumpValue {
  static constexpr const char* kName = "StumpFunc";
  float threshold, low, high;
  CAFFE2_PORTABLE float operator()(float x) const { return x <= threshold ? low : high; }
};

// The Box-Cox transform of x + lambda2, by columns.
template <typename T>
struct BoxCoxElements {
  static constexpr const char* kName = "BatchBoxCox";
  int64_t columns;
  const T *x, *lambda1, *lambda2;
  T* y;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    constexpr T kSmallest = T(1e-6);  // what is transformed is at least this
    const T power = lambda1[i % columns], sum = x[i] + lambda2[i % columns];
    const T value = sum < kSmallest ? kSmallest : sum;
    y[i] = power == 0 ? std::log(value) : (std::pow(value, power) - 1) / power;
  }
};

// x over the root of its row's number, where that is positive.
template <typename S>
struct RootDivideElements {
  static constexpr const char* kName = "SquareRootDivide";
  int64_t width;
  const float* x;
  const S* scale;
  float* y;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const S number = scale[i / width];
    const float factor =
        number > 0 ? static_cast<float>(1 / std::sqrt(static_cast<double>(number))) : 1.f;
    y[i] = x[i] * factor;
  }
};

// The Jensen-Shannon divergence of the probabilities p and q of one event; differences of nearly
// equal numbers, so in double.
struct BernoulliDivergence {
  static constexpr const char* kName = "BernoulliJSD";
  CAFFE2_PORTABLE static double Log(double x) {
    return std::log(x < 1e-20 ? 1e-20 : x);  // of 0, too
  }
  CAFFE2_PORTABLE static double Entropy(double p) { return -p * Log(p) - (1 - p) * Log(1 - p); }
  CAFFE2_PORTABLE float operator()(float x, float t) const {
    const double p = x, q = t;
    return static_cast<float>(Entropy((p + q) / 2) - (Entropy(p) + Entropy(q)) / 2);
  }
};
// log(p (1 - m) / (m (1 - p))) / 2 * dy, with m = (p + q) / 2
struct BernoulliSlope {
  static constexpr const char* kName = "BernoulliJSDGradient";
  CAFFE2_PORTABLE float operator()(float dy, float x, float t) const {
    const double p = x, m = (p + t) / 2;
    const double slope = BernoulliDivergence::Log(p) - BernoulliDivergence::Log(1 - p) -
                         BernoulliDivergence::Log(m) + BernoulliDivergence::Log(1 - m);
    return static_cast<float>(dy * slope / 2);
  }
};

// Element i of [positions, size]: waves of growing length at the position, in double as positions
// may be large.
template <typename Index>
struct SinusoidElements {
  static constexpr const char* kName = "SinusoidPositionEncoding";
  int64_t size;
  float alpha, amplitude;
  const Index* position;
  float* y;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const int64_t k = i % size;
    const double share = static_cast<double>(k) / static_cast<double>(size);
    const double angle =
        static_cast<double>(position[i / size]) / std::pow(static_cast<double>(alpha), share);
    y[i] = static_cast<float>(amplitude * (k % 2 == 0 ? std::sin(angle) : std::cos(angle)));
  }
};

}  // namespace caffe2

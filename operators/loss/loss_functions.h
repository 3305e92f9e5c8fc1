// Losses of probabilities and of pairs, for the host and for devices (host_device.h).
#pragma once

#include <climits>

#include "operators/common/host_device_math.h"

namespace caffe2 {

// to[i] = from[i]. A number that does not fit becomes the nearest int, which is not a class,
// either.
struct NarrowLabels {
  static constexpr const char* kName = "NarrowLabels";
  const int64_t* from;
  int* to;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t label = from[i];
    to[i] = label > INT_MAX ? INT_MAX : label < INT_MIN ? INT_MIN : static_cast<int>(label);
  }
};

constexpr float kMinProbability = 1e-20f;  // smaller probabilities count as this

// The probability as float, at least kMinProbability, which would be 0 in float16.
template <typename T>
CAFFE2_HOST_DEVICE_INLINE float ProbabilityOf(T x) {
  const float p = host_device::Widen(x);
  return p < kMinProbability ? kMinProbability : p;
}

// y[i] = -sum_j t[i, j] log x[i, j]. Run it by ForEachRowSum.
template <typename T>
struct CrossEntropyRows {
  static constexpr const char* kName = "CrossEntropy";
  int64_t width;
  const T *x, *t;
  T* y;
  struct Term {
    const T *p, *target;
    CAFFE2_HOST_DEVICE_INLINE float operator()(int64_t i) const {
      return -(host_device::Widen(target[i]) * host_device::Log(ProbabilityOf(p[i])));
    }
  };
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t row, Team team) const {
    const Term term{x + row * width, t + row * width};
    const auto sum = host_device::SumOver(team, width, term);
    if (team.leader()) Finish(row, sum);
  }
  template <typename Number, class Use>
  CAFFE2_HOST_DEVICE Number WithTerm(const Use& use) const {
    return use(Term{x, t});
  }
  template <typename Number>
  CAFFE2_HOST_DEVICE void Finish(int64_t row, Number sum) const {
    y[row] = host_device::Narrow<T>(sum);
  }
};
// dx[i, j] = -dy[i] t[i, j] / x[i, j]
template <typename T>
struct CrossEntropyGradient {
  static constexpr const char* kName = "CrossEntropyGradient";
  int64_t width;
  const T *x, *t, *dy;
  T* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const float g = -host_device::Widen(dy[i / width]) * host_device::Widen(t[i]);
    dx[i] = host_device::Narrow<T>(g / ProbabilityOf(x[i]));
  }
};

// y[i] = {1 - x[i], x[i]}
template <typename T>
struct MakeTwoClass {
  static constexpr const char* kName = "MakeTwoClass";
  const T* x;
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    y[2 * i] = host_device::Narrow<T>(1 - host_device::Widen(x[i]));
    y[2 * i + 1] = x[i];
  }
};
template <typename T>
struct MakeTwoClassGradient {
  static constexpr const char* kName = "MakeTwoClassGradient";
  const T* dy;
  T* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    dx[i] =
        host_device::Narrow<T>(host_device::Widen(dy[2 * i + 1]) - host_device::Widen(dy[2 * i]));
  }
};

// loss = max(0, margin - y (x1 - x2))
template <typename T>
struct MarginRanking {
  static constexpr const char* kName = "MarginRankingCriterion";
  float margin;
  const T *x1, *x2;
  const int32_t* y;
  T* loss;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const float difference = host_device::Widen(x1[i]) - host_device::Widen(x2[i]);
    const float over = margin - static_cast<float>(y[i]) * difference;
    loss[i] = host_device::Narrow<T>(over > 0 ? over : 0.f);
  }
};
template <typename T>
struct MarginRankingGradient {
  static constexpr const char* kName = "MarginRankingCriterionGradient";
  float margin;
  const T *x1, *x2;
  const int32_t* y;
  const T* d_loss;
  T *dx1, *dx2;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const float difference = host_device::Widen(x1[i]) - host_device::Widen(x2[i]);
    const auto sign = static_cast<float>(y[i]);
    const float gradient =
        margin - sign * difference > 0 ? -sign * host_device::Widen(d_loss[i]) : 0.f;
    dx1[i] = host_device::Narrow<T>(gradient);
    dx2[i] = host_device::Narrow<T>(-gradient);
  }
};

// loss = 1 - s where y is 1, else max(0, s - margin)
template <typename T>
struct CosineEmbedding {
  static constexpr const char* kName = "CosineEmbeddingCriterion";
  float margin;
  const T* s;
  const int32_t* y;
  T* loss;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const float value = host_device::Widen(s[i]);
    const float over = value > margin ? value - margin : 0.f;
    loss[i] = host_device::Narrow<T>(y[i] == 1 ? 1.f - value : over);
  }
};
template <typename T>
struct CosineEmbeddingGradient {
  static constexpr const char* kName = "CosineEmbeddingCriterionGradient";
  float margin;
  const T* s;
  const int32_t* y;
  const T* d_loss;
  T* ds;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const float g = host_device::Widen(d_loss[i]);
    ds[i] = host_device::Narrow<T>(y[i] == 1 ? -g : host_device::Widen(s[i]) > margin ? g : 0.f);
  }
};

}  // namespace caffe2

// Losses of probabilities and of pairs, for the host and for devices (portable.h).
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

constexpr float kLeastProbability = 1e-20f;  // probabilities below count as this

// As float: kLeastProbability is 0 in float16.
template <typename T>
CAFFE2_PORTABLE float ProbabilityOf(T x) {
  const float p = portable::Widen(x);
  return p < kLeastProbability ? kLeastProbability : p;
}

// y[i] = -sum_j t[i, j] log x[i, j]
template <typename T>
struct CrossEntropyRows {
  static constexpr const char* kName = "CrossEntropy";
  int64_t width;
  const T *x, *t;
  T* y;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, Team team) const {
    typename Team::Number sum = 0;
    for (int64_t j = row * width + team.first(); j < (row + 1) * width; j += team.step()) {
      sum -= portable::Widen(t[j]) * std::log(ProbabilityOf(x[j]));
    }
    sum = team.Sum(sum);
    if (team.leader()) y[row] = portable::Narrow<T>(sum);
  }
};
// dx[i, j] = -dy[i] t[i, j] / x[i, j]
template <typename T>
struct CrossEntropyGradient {
  static constexpr const char* kName = "CrossEntropyGradient";
  int64_t width;
  const T *x, *t, *dy;
  T* dx;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float g = -portable::Widen(dy[i / width]) * portable::Widen(t[i]);
    dx[i] = portable::Narrow<T>(g / ProbabilityOf(x[i]));
  }
};

// y[i] = {1 - x[i], x[i]}
template <typename T>
struct MakeTwoClass {
  static constexpr const char* kName = "MakeTwoClass";
  const T* x;
  T* y;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    y[2 * i] = portable::Narrow<T>(1 - portable::Widen(x[i]));
    y[2 * i + 1] = x[i];
  }
};
template <typename T>
struct MakeTwoClassGradient {
  static constexpr const char* kName = "MakeTwoClassGradient";
  const T* dy;
  T* dx;
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    dx[i] = portable::Narrow<T>(portable::Widen(dy[2 * i + 1]) - portable::Widen(dy[2 * i]));
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
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float difference = portable::Widen(x1[i]) - portable::Widen(x2[i]);
    const float over = margin - static_cast<float>(y[i]) * difference;
    loss[i] = portable::Narrow<T>(over > 0 ? over : 0.f);
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
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float difference = portable::Widen(x1[i]) - portable::Widen(x2[i]);
    const auto sign = static_cast<float>(y[i]);
    const float slope = margin - sign * difference > 0 ? -sign * portable::Widen(d_loss[i]) : 0.f;
    dx1[i] = portable::Narrow<T>(slope);
    dx2[i] = portable::Narrow<T>(-slope);
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
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float value = portable::Widen(s[i]);
    const float over = value > margin ? value - margin : 0.f;
    loss[i] = portable::Narrow<T>(y[i] == 1 ? 1.f - value : over);
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
  CAFFE2_PORTABLE void operator()(int64_t i) const {
    const float g = portable::Widen(d_loss[i]);
    ds[i] = portable::Narrow<T>(y[i] == 1 ? -g : portable::Widen(s[i]) > margin ? g : 0.f);
  }
};

}  // namespace caffe2

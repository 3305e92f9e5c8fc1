// The softmax over a tree of classes, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// A node on the path of a sample. Its children have the rows [row, row + length) of the weights,
// and their probabilities begin at `begin`.
struct PathStep {
  int64_t sample, row, length, target, begin;
};
// A probability of a step. Its child has this row of the weights.
struct PathEntry {
  int64_t row, sample, at;
};

// -log(probability), which is finite even for probability 0.
CAFFE2_HOST_DEVICE inline float MinusLog(float probability) {
  constexpr float kMinProbability = 1e-20f;  // smaller probabilities count as this
  return -std::log(probability < kMinProbability ? kMinProbability : probability);
}

// The linear layers of all inner nodes: child c of a node is row offset + c of W and b.
struct NodeWeights {
  const float *w, *b;
  int64_t dim;

  // p = the probabilities of the `length` children from row `offset` on, for a sample.
  template <class Team>
  CAFFE2_HOST_DEVICE void Softmax(const float* x, int64_t offset, int64_t length, float* p,
                                  Team team) const {
    using Number = typename Team::Number;
    for (int64_t c = 0; c < length; ++c) {
      const float* row = w + (offset + c) * dim;
      Number sum = 0;
      for (int64_t k = team.first(); k < dim; k += team.step()) sum += x[k] * row[k];
      sum = team.Sum(sum);
      if (team.leader()) p[c] = static_cast<float>(b[offset + c] + sum);
    }
    team.Sync();
    float largest = -INFINITY;
    for (int64_t c = team.first(); c < length; c += team.step()) {
      largest = largest < p[c] ? p[c] : largest;
    }
    largest = team.Reduce(largest, host_device::Max());
    Number sum = 0;
    for (int64_t c = team.first(); c < length; c += team.step()) {
      p[c] = std::exp(p[c] - largest);
      sum += p[c];
    }
    sum = team.Sum(sum);
    for (int64_t c = team.first(); c < length; c += team.step()) {
      p[c] = static_cast<float>(p[c] / sum);
    }
  }
};

// The probabilities of the children of each step of a path, at p + step.begin.
struct SoftmaxOfSteps {
  static constexpr const char* kName = "HSoftmax";
  NodeWeights weights;
  const PathStep* steps;
  const float* x;
  float* p;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    const PathStep& step = steps[i];
    weights.Softmax(x + step.sample * weights.dim, step.row, step.length, p + step.begin, team);
  }
};
// y[s] = -sum over the steps [first[s], first[s + 1]) of the logarithms of their targets'
// probabilities.
struct LossOfPaths {
  static constexpr const char* kName = "HSoftmaxLoss";
  const int64_t* first;
  const PathStep* steps;
  const float* p;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t s) const {
    float sum = 0;
    for (int64_t i = first[s]; i < first[s + 1]; ++i) {
      sum += MinusLog(p[steps[i].begin + steps[i].target]);
    }
    y[s] = sum;
  }
};

// The gradient of the logits of each step: d = (p - [target]) dY.
struct GradientOfLogits {
  static constexpr const char* kName = "HSoftmaxLogitGradient";
  const PathStep* steps;
  const float *p, *dy;
  float* d;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const PathStep& step = steps[i];
    for (int64_t c = 0; c < step.length; ++c) {
      const int64_t at = step.begin + c;
      d[at] = (p[at] - (c == step.target ? 1.f : 0.f)) * dy[step.sample];
    }
  }
};
// dX[s] = the sum of d times the row of each probability of the sample.
struct GradientOfSamples {
  static constexpr const char* kName = "HSoftmaxGradient";
  int64_t dim;
  const int64_t* first;
  const PathStep* steps;
  const float *w, *d;
  float* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    for (int64_t k = team.first(); k < dim; k += team.step()) {
      float sum = 0;
      for (int64_t i = first[s]; i < first[s + 1]; ++i) {
        const PathStep& step = steps[i];
        for (int64_t c = 0; c < step.length; ++c) {
          sum += d[step.begin + c] * w[(step.row + c) * dim + k];
        }
      }
      dx[s * dim + k] = sum;
    }
  }
};
// dW[row] = the sum of d x, and db[row] = the sum of d, over the entries [first[i], first[i + 1])
// of one row. Other rows must be 0 already.
struct GradientOfRows {
  static constexpr const char* kName = "HSoftmaxWeightGradient";
  int64_t dim;
  const int64_t* first;
  const PathEntry* entries;
  const float *x, *d;
  float *dw, *db;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    const int64_t row = entries[first[i]].row;
    for (int64_t k = team.first(); k < dim; k += team.step()) {
      float sum = 0;
      for (int64_t e = first[i]; e < first[i + 1]; ++e) {
        sum += d[entries[e].at] * x[entries[e].sample * dim + k];
      }
      dw[row * dim + k] = sum;
    }
    float sum = 0;
    for (int64_t e = first[i] + team.first(); e < first[i + 1]; e += team.step()) {
      sum += d[entries[e].at];
    }
    sum = team.Sum(sum);
    if (team.leader()) db[row] = sum;
  }
};

}  // namespace caffe2

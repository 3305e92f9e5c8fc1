// Losses of pairs in lists, for the host and for devices (host_device.h). Segment s of the scores
// is a list.
#pragma once

#include "operators/common/softplus.h"

namespace caffe2 {

// The inputs of PairWiseLoss and its gradient. A pair of elements counts if their labels differ;
// the element with the higher label is better.
struct LabelledLists {
  const int64_t* offsets;
  const float *x, *label;
};

// loss[s] = the average of log(1 + e^(x[worse] - x[better])); 0 without pairs.
struct PairLossRows {
  static constexpr const char* kName = "PairWiseLoss";
  LabelledLists lists;
  float* loss;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    using Number = typename Team::Number;
    const int64_t begin = lists.offsets[s], end = lists.offsets[s + 1];
    Number sum = 0;
    double pairs = 0;
    for (int64_t i = begin + team.first(); i < end; i += team.step()) {
      for (int64_t j = begin; j < i; ++j) {
        if (lists.label[i] == lists.label[j]) continue;
        const Number margin = Number(lists.x[i]) - Number(lists.x[j]);
        sum += host_device::Softplus(lists.label[i] > lists.label[j] ? -margin : margin);
        ++pairs;
      }
    }
    sum = team.Sum(sum);
    pairs = team.Sum(pairs);
    if (team.leader()) loss[s] = pairs == 0 ? 0.f : static_cast<float>(sum / pairs);
  }
};

// dx for the scores of list s, from the gradient g[s] of its loss.
struct PairLossGradientRows {
  static constexpr const char* kName = "PairWiseLossGradient";
  LabelledLists lists;
  const float* g;
  float* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    using Number = typename Team::Number;
    const int64_t begin = lists.offsets[s], end = lists.offsets[s + 1];
    double pairs = 0;  // each is counted twice
    for (int64_t i = begin + team.first(); i < end; i += team.step()) {
      for (int64_t j = begin; j < end; ++j) pairs += lists.label[i] != lists.label[j] ? 1 : 0;
    }
    pairs = team.Sum(pairs) / 2;
    const Number share = pairs == 0 ? Number(0) : static_cast<Number>(g[s] / pairs);
    for (int64_t i = begin + team.first(); i < end; i += team.step()) {
      Number gradient = 0;
      for (int64_t j = begin; j < end; ++j) {
        if (lists.label[i] == lists.label[j]) continue;
        const Number margin = Number(lists.x[i]) - Number(lists.x[j]);
        gradient += lists.label[i] > lists.label[j] ? -host_device::Sigmoid(-margin)
                                                    : host_device::Sigmoid(margin);
      }
      dx[i] = static_cast<float>(share * gradient);
    }
  }
};

// The loss of LambdaRank of a list of scores y with relevances r, and its gradient dy. `gains` and
// `discounts` are scratch, one number for each score.
template <typename Number>
struct LambdaRankRows {
  static constexpr const char* kName = "LambdaRankNdcg";
  // A smaller ideal gain counts as kMinDcg. Lists of less relevance than kMinRelevance have no
  // loss.
  static constexpr float kMinDcg = 1e-5f, kMinRelevance = 1e-6f;
  bool ndcg_loss, normalize, exponential;
  const int64_t* offsets;
  const float *y, *r;
  Number *gains, *discounts;
  float *loss, *dy;

  // 1 / log2(rank + 1) for element i. Ranks count from 1 by descending value; of equal values the
  // first has the lowest rank.
  CAFFE2_HOST_DEVICE static Number Discount(const float* value, int64_t begin, int64_t end,
                                            int64_t i) {
    int64_t before = 0;
    for (int64_t j = begin; j < end; ++j) {
      before += value[j] > value[i] || (value[j] == value[i] && j < i) ? 1 : 0;
    }
    return 1 / std::log2(static_cast<Number>(before) + 2);
  }
  CAFFE2_HOST_DEVICE Number GainOf(int64_t i) const {
    return ndcg_loss && !exponential ? Number(r[i]) : std::exp2(Number(r[i]));
  }

  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    const int64_t begin = offsets[s], end = offsets[s + 1];
    Number relevance = 0, ideal_gain = 0, gain = 0;
    for (int64_t i = begin + team.first(); i < end; i += team.step()) {
      gains[i] = GainOf(i);
      discounts[i] = Discount(y, begin, end, i);
      relevance += std::fabs(Number(r[i]));
      ideal_gain += gains[i] * Discount(r, begin, end, i);
      gain += gains[i] * discounts[i];
    }
    relevance = team.Sum(relevance);
    ideal_gain = team.Sum(ideal_gain);
    gain = team.Sum(gain);
    team.Sync();                                         // all have written
    const bool relevant = !(relevance < kMinRelevance);  // NaN is passed on
    const auto min = static_cast<Number>(kMinDcg);
    const Number scale = normalize ? 1 / (ideal_gain < min ? min : ideal_gain) : 1;
    Number pairs_loss = 0;
    for (int64_t i = begin + team.first(); i < end; i += team.step()) {
      dy[i] = relevant ? static_cast<float>(GradientOf(i, begin, end, &pairs_loss) * scale) : 0.f;
    }
    pairs_loss = team.Sum(pairs_loss);
    if (!team.leader()) return;
    loss[s] =
        relevant ? static_cast<float>((ndcg_loss ? ideal_gain - gain : pairs_loss) * scale) : 0.f;
  }

  // The gradient of score i, not yet scaled. Adds the loss of its pairs to *pairs_loss.
  CAFFE2_HOST_DEVICE Number GradientOf(int64_t i, int64_t begin, int64_t end,
                                       Number* pairs_loss) const {
    Number gradient = 0;
    for (int64_t j = begin; j < end; ++j) {
      const Number weight = std::fabs((gains[i] - gains[j]) * (discounts[i] - discounts[j]));
      const Number sign = r[i] > r[j] ? 1 : -1, margin = sign * (Number(y[i]) - Number(y[j]));
      gradient -= weight * sign / (1 + std::exp(margin));
      *pairs_loss += weight * host_device::Softplus(-margin);
    }
    return gradient;
  }
};

// dy = g[s] * gradient, element by element of a list.
struct ScaleLists {
  static constexpr const char* kName = "LambdaRankNdcgGradient";
  const int64_t* offsets;
  const float *g, *gradient;
  float* dy;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    for (int64_t i = offsets[s] + team.first(); i < offsets[s + 1]; i += team.step()) {
      dy[i] = g[s] * gradient[i];
    }
  }
};

}  // namespace caffe2

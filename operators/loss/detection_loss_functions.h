// Losses of detectors (Detectron's nets), for the host and for devices (host_device.h). The terms
// of a loss are a functor: Loss(i) is what element i adds to it, Gradient(i) the derivative of the
// loss with respect to element i of the predictions.
#pragma once

#include "operators/common/pixel_labels.h"
#include "operators/common/rate.h"
#include "operators/common/softplus.h"
#include "operators/loss/sigmoid_loss_functions.h"

namespace caffe2 {

// scale / max(normalizer, least)
struct LossFactor {
  float scale = 1;
  Rate normalizer{nullptr, 1};
  float least = 1;
  CAFFE2_HOST_DEVICE float operator()() const {
    const float divisor = normalizer();
    return scale / (divisor > least ? divisor : least);
  }
};

// Elements of one partial sum. Sums of parts keep the order of the elements, whatever runs them.
constexpr int64_t kLossPart = 4096;

// parts[k] = the sum of the terms of part k.
template <class Terms>
struct SumLossParts {
  static constexpr const char* kName = Terms::kName;
  Terms terms;
  int64_t n;
  float* parts;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t part, Team team) const {
    const int64_t begin = part * kLossPart, end = n - begin < kLossPart ? n : begin + kLossPart;
    typename Team::Number sum = 0;
    for (int64_t i = begin + team.first(); i < end; i += team.step()) sum += terms.Loss(i);
    sum = team.Sum(sum);
    if (team.leader()) parts[part] = static_cast<float>(sum);
  }
};
// *loss = factor * the sum of the parts
struct SumLoss {
  static constexpr const char* kName = "SumLoss";
  LossFactor factor;
  int64_t n;
  const float* parts;
  float* loss;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t /*row*/, Team team) const {
    typename Team::Number sum = 0;
    for (int64_t i = team.first(); i < n; i += team.step()) sum += parts[i];
    sum = team.Sum(sum);
    if (team.leader()) *loss = static_cast<float>(sum * factor());
  }
};
// dx[i] = factor * d_loss * the derivative of the terms
template <class Terms>
struct SpreadLoss {
  static constexpr const char* kName = Terms::kName;
  Terms terms;
  LossFactor factor;
  Rate d_loss;
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    dx[i] = factor() * d_loss() * terms.Gradient(i);
  }
};

// A parabola within beta of 0, continued by straight lines.
struct SmoothL1 {
  float beta;
  CAFFE2_HOST_DEVICE float Value(float x) const {
    const float size = std::fabs(x);
    return size < beta ? 0.5f * x * x / beta : size - 0.5f * beta;
  }
  CAFFE2_HOST_DEVICE float Slope(float x) const {
    return std::fabs(x) < beta ? x / beta : x > 0 ? 1.f : x < 0 ? -1.f : x;
  }
};

struct SmoothL1Terms {
  static constexpr const char* kName = "SmoothL1Loss";
  SmoothL1 rule;
  const float *predictions, *targets, *inside, *outside;
  CAFFE2_HOST_DEVICE float Difference(int64_t i) const {
    return inside[i] * (predictions[i] - targets[i]);
  }
  CAFFE2_HOST_DEVICE float Loss(int64_t i) const { return outside[i] * rule.Value(Difference(i)); }
  CAFFE2_HOST_DEVICE float Gradient(int64_t i) const {
    return outside[i] * inside[i] * rule.Slope(Difference(i));
  }
};

// places[i] = the element of N x C x H x W predictions that row i (n, c, y, x) of the locations
// names, or -1 if it, or one of the three channels after it, does not exist.
struct PlaceLocations {
  static constexpr const char* kName = "PlaceLocations";
  int64_t sizes[4];
  const float* locations;
  int64_t* places;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    int64_t place = 0;
    bool exists = true;
    for (int d = 0; d < 4; ++d) {
      const float at = locations[i * 4 + d];
      exists = exists && at >= 0 && at < static_cast<float>(d == 1 ? sizes[d] - 3 : sizes[d]);
      place = place * sizes[d] + (exists ? static_cast<int64_t>(at) : 0);
    }
    places[i] = exists ? place : -1;
  }
};
// Four channels at each of several places. Channels are `area` apart.
struct SelectedSmoothL1Terms {
  static constexpr const char* kName = "SelectSmoothL1Loss";
  SmoothL1 rule;
  int64_t area;
  const int64_t* places;
  const float *predictions, *targets;
  // The element of the predictions for element k of the targets, or -1.
  CAFFE2_HOST_DEVICE int64_t At(int64_t k) const {
    return places[k / 4] < 0 ? -1 : places[k / 4] + k % 4 * area;
  }
  CAFFE2_HOST_DEVICE float Loss(int64_t k) const {
    const int64_t at = At(k);
    return at < 0 ? 0.f : rule.Value(predictions[at] - targets[k]);
  }
};
struct SelectedSmoothL1Gradient {
  static constexpr const char* kName = "SelectSmoothL1LossGradient";
  SelectedSmoothL1Terms terms;
  LossFactor factor;
  Rate d_loss;
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t k) const {
    const int64_t at = terms.At(k);
    if (at < 0) return;
    dx[at] = factor() * d_loss() * terms.rule.Slope(terms.predictions[at] - terms.targets[k]);
  }
};

struct SigmoidCrossEntropyTerms {
  static constexpr const char* kName = "SigmoidCrossEntropyLoss";
  const float* logits;
  const int* targets;
  CAFFE2_HOST_DEVICE float Loss(int64_t i) const {
    if (targets[i] == kIgnoredLabel) return 0;
    return SigmoidLossOf<SigmoidLoss::kCrossEntropy, float>(logits[i],
                                                            static_cast<float>(targets[i]));
  }
  CAFFE2_HOST_DEVICE float Gradient(int64_t i) const {
    if (targets[i] == kIgnoredLabel) return 0;
    return SigmoidLossGradientOf<SigmoidLoss::kCrossEntropy>(logits[i],
                                                             static_cast<float>(targets[i]));
  }
};
struct CountTargets {
  static constexpr const char* kName = "CountTargets";
  const int* targets;
  CAFFE2_HOST_DEVICE float Loss(int64_t i) const { return targets[i] == kIgnoredLabel ? 0.f : 1.f; }
};

// The focal loss of Lin et al., ICCV 2017: cross entropies count less the better the prediction.
struct Focus {
  float gamma, alpha;  // alpha: the weight of objects; the background has 1 - alpha
};

// A sigmoid for each class of each anchor: logits N x (anchors * classes) x area, labels N x
// anchors x area. Label c + 1 is class c, 0 the background.
struct SigmoidFocalTerms {
  static constexpr const char* kName = "SigmoidFocalLoss";
  Focus focus;
  int64_t classes, area;
  const float* logits;
  const int* labels;
  CAFFE2_HOST_DEVICE int Label(int64_t i) const {
    return labels[i / area / classes * area + i % area];
  }
  CAFFE2_HOST_DEVICE bool IsClass(int64_t i, int label) const {
    return label == i / area % classes + 1;
  }
  CAFFE2_HOST_DEVICE float Loss(int64_t i) const {
    const int label = Label(i);
    if (label == kIgnoredLabel) return 0;
    const bool positive = IsClass(i, label);
    const float x = positive ? logits[i] : -logits[i];  // of the right decision
    const float weight = positive ? focus.alpha : 1 - focus.alpha;
    return weight * std::pow(host_device::Sigmoid(-x), focus.gamma) * host_device::Softplus(-x);
  }
  CAFFE2_HOST_DEVICE float Gradient(int64_t i) const {
    const int label = Label(i);
    if (label == kIgnoredLabel) return 0;
    const bool positive = IsClass(i, label);
    const float x = positive ? logits[i] : -logits[i];
    const float weight = positive ? -focus.alpha : 1 - focus.alpha;
    const float p = host_device::Sigmoid(x), rest = host_device::Sigmoid(-x);
    return weight * std::pow(rest, focus.gamma) *
           (rest + focus.gamma * p * host_device::Softplus(-x));
  }
};

// A softmax over the classes of each anchor; label 0 is the background, negative labels do not
// count. Pixels of an anchor are pixels of `pixels`, which has an image for each anchor.
struct SoftmaxFocalTerms {
  static constexpr const char* kName = "SoftmaxFocalLoss";
  static constexpr float kLeast = 1.17549435e-38f;  // of a probability, before its logarithm
  Focus focus;
  PixelLabels pixels;
  const float* p;
  CAFFE2_HOST_DEVICE bool Counts(int label) const { return label >= 0 && label < pixels.classes; }
  CAFFE2_HOST_DEVICE float Weight(int label) const {
    return label == 0 ? 1 - focus.alpha : focus.alpha;
  }
  // -log p, of at most kLeast
  CAFFE2_HOST_DEVICE static float Surprise(float probability) {
    return -std::log(probability > kLeast ? probability : kLeast);
  }
  CAFFE2_HOST_DEVICE float Loss(int64_t i) const {
    const int label = pixels.labels[i];
    if (!Counts(label)) return 0;
    const float right = p[pixels.First(i) + label * pixels.area];
    return Weight(label) * std::pow(1 - right, focus.gamma) * Surprise(right);
  }
  // For logit i.
  CAFFE2_HOST_DEVICE float Gradient(int64_t i) const {
    const int64_t plane = i / pixels.area, anchor = plane / pixels.classes;
    const int64_t pixel = anchor * pixels.area + i % pixels.area;
    const int label = pixels.labels[pixel];
    if (!Counts(label)) return 0;
    const float right = p[pixels.First(pixel) + label * pixels.area], rest = 1 - right;
    // The second term tends to 0 with `rest`, but its power may be infinite.
    const float slope =
        std::pow(rest, focus.gamma) +
        (rest > 0 ? focus.gamma * std::pow(rest, focus.gamma - 1) * right * Surprise(right) : 0.f);
    return Weight(label) * slope * (p[i] - (label == plane % pixels.classes ? 1.f : 0.f));
  }
};
// to[i] = the label of element i as an index: 0 for labels that do not count.
struct IndicesOfLabels {
  static constexpr const char* kName = "IndicesOfLabels";
  const int* labels;
  int* to;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { to[i] = labels[i] < 0 ? 0 : labels[i]; }
};

}  // namespace caffe2

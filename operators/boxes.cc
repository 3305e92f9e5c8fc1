#include "operators/boxes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace caffe2 {
namespace {

const float kMostGrowth = std::log(1000.f / 16.f);  // of a side, as a logarithm

}  // namespace

float BoxMeasure::overlap(const Box& a, const Box& b) const {
  const Box common{std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2),
                   std::min(a.y2, b.y2)};
  const float intersection = std::max(width(common), 0.f) * std::max(height(common), 0.f);
  return intersection > 0 ? intersection / (area(a) + area(b) - intersection) : 0;
}

Box BoxMeasure::clip(const Box& box, int64_t image_height, int64_t image_width) const {
  const auto inside = [this](float x, int64_t size) {
    return std::max(std::min(x, static_cast<float>(size) - one), 0.f);
  };
  return {inside(box.x1, image_width), inside(box.y1, image_height), inside(box.x2, image_width),
          inside(box.y2, image_height)};
}

BoxTransform::BoxTransform(const OperatorBase& op, std::vector<float> weights)
    : weights_(std::move(weights)) {
  CAFFE_ENFORCE(!op.GetSingleArgument<bool>("rotated", false), "there are no rotated boxes");
  CAFFE_ENFORCE_EQ(weights_.size(), 4u, "weights of (dx, dy, dw, dh)");
  for (const float weight : weights_) CAFFE_ENFORCE_NE(weight, 0, "a weight");
  // Caffe2 first had correct_transform_coords, then legacy_plus_one in its place.
  measure_.one = op.GetSingleArgument<bool>("legacy_plus_one", true) ? 1.f : 0.f;
  const bool correct = op.GetSingleArgument<bool>("correct_transform_coords", false);
  end_ = op.HasArgument("legacy_plus_one") ? measure_.one : correct ? 1.f : 0.f;
}

Box BoxTransform::Apply(const Box& box, const float* delta) const {
  const float width = measure_.width(box), height = measure_.height(box);
  const float x = box.x1 + 0.5f * width + delta[0] / weights_[0] * width;
  const float y = box.y1 + 0.5f * height + delta[1] / weights_[1] * height;
  const float new_width = std::exp(std::min(delta[2] / weights_[2], kMostGrowth)) * width;
  const float new_height = std::exp(std::min(delta[3] / weights_[3], kMostGrowth)) * height;
  return {x - 0.5f * new_width, y - 0.5f * new_height, x + 0.5f * new_width - end_,
          y + 0.5f * new_height - end_};
}

void BoxTransform::Describe(OpSchema& schema) {
  schema
      .Arg("correct_transform_coords",
           "(bool, default 0) 1: the lower right corner is that of the last pixel, not the one "
           "behind it.")
      .Arg(
          "legacy_plus_one",
          "(bool, default 1) Boxes are x2 - x1 + 1 wide, and so on; 0: x2 - x1. Where it is given, "
          "it decides about correct_transform_coords too.")
      .Arg("rotated", "(bool, default 0) Rotated boxes; only 0.");
}

std::vector<int64_t> SortByScore(int64_t n, const float* scores, int64_t limit) {
  for (int64_t i = 0; i < n; ++i) CAFFE_ENFORCE(!std::isnan(scores[i]), "score ", i, " is a NaN");
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  const int64_t count = limit > 0 ? std::min(n, limit) : n;
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [scores](int64_t a, int64_t b) {
                      return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
                    });
  order.resize(count);
  return order;
}

std::vector<int64_t> SuppressOverlaps(const std::vector<Box>& boxes,
                                      const std::vector<int64_t>& order, float threshold,
                                      int64_t limit, const BoxMeasure& measure) {
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    if (limit > 0 && static_cast<int64_t>(kept.size()) == limit) break;
    const bool suppressed = std::any_of(kept.begin(), kept.end(), [&](int64_t k) {
      return measure.overlap(boxes[k], boxes[i]) > threshold;
    });
    if (!suppressed) kept.push_back(i);
  }
  return kept;
}

std::vector<int64_t> SoftSuppression::Run(const std::vector<Box>& boxes,
                                          std::vector<int64_t> candidates,
                                          const BoxMeasure& measure,
                                          std::vector<float>* scores) const {
  const auto factor = [this](float overlap) {
    if (gaussian) return std::exp(-overlap * overlap / sigma);
    return overlap > threshold ? 1 - overlap : 1.f;
  };
  std::vector<int64_t> kept;
  while (!candidates.empty()) {
    const auto best =
        std::max_element(candidates.begin(), candidates.end(),
                         [scores](int64_t a, int64_t b) { return (*scores)[a] < (*scores)[b]; });
    const int64_t winner = *best;
    kept.push_back(winner);
    candidates.erase(best);
    for (const int64_t i : candidates) {
      (*scores)[i] *= factor(measure.overlap(boxes[winner], boxes[i]));
    }
    std::erase_if(candidates, [&](int64_t i) { return (*scores)[i] < least_score; });
  }
  return kept;
}

}  // namespace caffe2

#include "operators/detection/boxes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace caffe2 {
namespace {

const float kMaxGrowth = std::log(1000.f / 16.f);  // of a side, as a logarithm
constexpr float kDegrees = 57.29577951f;           // in a radian

void CheckWeights(const std::vector<float>& weights) {
  CAFFE_ENFORCE(weights.size() == 4, "argument weights must be 4 numbers (dx, dy, dw, dh), found ",
                weights.size());
  for (const float weight : weights)
    CAFFE_ENFORCE(weight != 0, "argument weights must not contain 0");
}

float ReadPlusOne(const OperatorBase& op) {
  return op.GetSingleArgument<bool>("legacy_plus_one", true) ? 1.f : 0.f;
}

struct Point {
  double x = 0, y = 0;
};
using Polygon = std::vector<Point>;

// Positive if c lies to the left of the line from a to b: twice the area of the triangle.
double Side(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

Polygon Corners(const RotatedBox& box) {
  const double cosine = std::cos(double{box.angle} / kDegrees);
  const double sine = std::sin(double{box.angle} / kDegrees);
  Polygon corners;
  for (const auto& [i, j] : {std::pair{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}) {
    const double x = 0.5 * i * box.width, y = 0.5 * j * box.height;
    corners.push_back({box.x + x * cosine + y * sine, box.y - x * sine + y * cosine});
  }
  return corners;
}

// The part of a convex polygon to the left of the line from a to b (Sutherland and Hodgman, 1974).
Polygon ClipLeft(const Polygon& polygon, const Point& a, const Point& b) {
  Polygon part;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Point &from = polygon[i], &to = polygon[(i + 1) % polygon.size()];
    const double from_side = Side(a, b, from), to_side = Side(a, b, to);
    if (from_side >= 0) part.push_back(from);
    if ((from_side > 0 && to_side < 0) || (from_side < 0 && to_side > 0)) {
      const double t = from_side / (from_side - to_side);
      part.push_back({from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)});
    }
  }
  return part;
}

double Area(const Polygon& polygon) {
  double twice = 0;
  for (size_t i = 2; i < polygon.size(); ++i) {
    twice += Side(polygon[0], polygon[i - 1], polygon[i]);
  }
  return twice / 2;
}

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
  CheckWeights(weights_);
  // Caffe2 first had correct_transform_coords and later replaced it by legacy_plus_one.
  measure_.one = ReadPlusOne(op);
  const bool correct = op.GetSingleArgument<bool>("correct_transform_coords", false);
  end_ = op.HasArgument("legacy_plus_one") ? measure_.one : correct ? 1.f : 0.f;
}

Box BoxTransform::Apply(const Box& box, const float* delta) const {
  const float width = measure_.width(box), height = measure_.height(box);
  const float x = box.x1 + 0.5f * width + delta[0] / weights_[0] * width;
  const float y = box.y1 + 0.5f * height + delta[1] / weights_[1] * height;
  const float new_width = std::exp(std::min(delta[2] / weights_[2], kMaxGrowth)) * width;
  const float new_height = std::exp(std::min(delta[3] / weights_[3], kMaxGrowth)) * height;
  return {x - 0.5f * new_width, y - 0.5f * new_height, x + 0.5f * new_width - end_,
          y + 0.5f * new_height - end_};
}

void BoxTransform::Write(const Box& box, float* to) {
  for (const float value : {box.x1, box.y1, box.x2, box.y2}) *to++ = value;
}

bool BoxTransform::IsLarge(const Box& box, float min, float height_limit, float width_limit) const {
  const float width = measure_.width(box), height = measure_.height(box);
  return width >= min && height >= min && box.x1 + width / 2 < width_limit &&
         box.y1 + height / 2 < height_limit;
}

RotatedBoxTransform::RotatedBoxTransform(const OperatorBase& op, std::vector<float> weights)
    : bound_(op.GetSingleArgument<bool>("angle_bound_on", true)),
      low_(op.GetSingleArgument<float>("angle_bound_lo", -90.f)),
      high_(op.GetSingleArgument<float>("angle_bound_hi", 90.f)),
      upright_(op.GetSingleArgument<float>("clip_angle_thresh", 1.f)),
      weights_(std::move(weights)) {
  CheckWeights(weights_);
  measure_.one = ReadPlusOne(op);
  CAFFE_ENFORCE(!bound_ || (high_ > low_ && std::fmod(high_ - low_, 180.f) == 0),
                "the bounds of angles ", low_, " and ", high_, " must be 180, 360, ... apart");
}

RotatedBox RotatedBoxTransform::Apply(const RotatedBox& box, const float* delta) const {
  RotatedBox moved{box.x + delta[0] / weights_[0] * box.width,
                   box.y + delta[1] / weights_[1] * box.height,
                   std::exp(std::min(delta[2] / weights_[2], kMaxGrowth)) * box.width,
                   std::exp(std::min(delta[3] / weights_[3], kMaxGrowth)) * box.height,
                   box.angle + delta[4] * kDegrees};
  if (bound_ && moved.angle < low_) {
    moved.angle += high_ - low_;
  } else if (bound_ && moved.angle > high_) {
    moved.angle -= high_ - low_;
  }
  return moved;
}

RotatedBox RotatedBoxTransform::Clip(const RotatedBox& box, int64_t image_height,
                                     int64_t image_width) const {
  if (!(std::fabs(box.angle) <= upright_)) return box;
  const float half_width = (box.width - measure_.one) / 2;
  const float half_height = (box.height - measure_.one) / 2;
  const Box part = measure_.clip(
      {box.x - half_width, box.y - half_height, box.x + half_width, box.y + half_height},
      image_height, image_width);
  return {(part.x1 + part.x2) / 2, (part.y1 + part.y2) / 2, measure_.width(part),
          measure_.height(part), box.angle};
}

void RotatedBoxTransform::Write(const RotatedBox& box, float* to) {
  for (const float value : {box.x, box.y, box.width, box.height, box.angle}) *to++ = value;
}

bool RotatedBoxTransform::IsLarge(const RotatedBox& box, float min, float height_limit,
                                  float width_limit) {
  return box.width >= min && box.height >= min && box.x < width_limit && box.y < height_limit;
}

float RotatedOverlap(const RotatedBox& a, const RotatedBox& b) {
  if (!(a.width > 0 && a.height > 0 && b.width > 0 && b.height > 0)) return 0;
  Polygon common = Corners(a);
  const Polygon window = Corners(b);
  for (size_t i = 0; i < window.size(); ++i) {
    common = ClipLeft(common, window[i], window[(i + 1) % window.size()]);
  }
  const double intersection = Area(common);
  const double both = double{a.width} * a.height + double{b.width} * b.height;
  return static_cast<float>(intersection / (both - intersection));
}

void BoxTransform::Describe(OpSchema& schema) {
  schema
      .Arg<bool>("correct_transform_coords",
                 "(default 0) 1: the lower right corner belongs to the last pixel, not to the "
                 "pixel after it.")
      .Arg<bool>("legacy_plus_one",
                 "(default 1) 1: boxes are x2 - x1 + 1 wide, and so on. 0: x2 - x1. If given, it "
                 "overrides correct_transform_coords.")
      .Arg<bool>(
          "rotated",
          "(default 0) 1: boxes are x and y of the centre, width, height and angle in degrees "
          "counter-clockwise, and deltas have a fifth number, radians added to the angle.")
      .Arg<bool>("angle_bound_on", "(default 1) Rotated: angles are wrapped between the bounds.")
      .Arg<float>("angle_bound_lo", "(default -90) The lower bound.")
      .Arg<float>("angle_bound_hi", "(default 90) The upper bound, a multiple of 180 above it.")
      .Arg<float>("clip_angle_thresh",
                  "(default 1) Rotated: only boxes rotated by at most so many degrees are clipped; "
                  "negative: none.");
}

std::vector<int64_t> SortByScore(int64_t n, const float* scores, int64_t limit) {
  for (int64_t i = 0; i < n; ++i) CAFFE_ENFORCE(!std::isnan(scores[i]), "score ", i, " is NaN");
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

std::vector<int64_t> SuppressOverlaps(const std::vector<int64_t>& order, float threshold,
                                      int64_t limit, const OverlapFunction& overlap) {
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    if (limit > 0 && static_cast<int64_t>(kept.size()) == limit) break;
    const bool suppressed =
        std::any_of(kept.begin(), kept.end(), [&](int64_t k) { return overlap(k, i) > threshold; });
    if (!suppressed) kept.push_back(i);
  }
  return kept;
}

std::vector<int64_t> SoftSuppression::Run(std::vector<int64_t> candidates,
                                          const OverlapFunction& overlap,
                                          std::vector<float>* scores) const {
  const auto factor = [this](float share) {
    if (gaussian) return std::exp(-share * share / sigma);
    return share > threshold ? 1 - share : 1.f;
  };
  std::vector<int64_t> kept;
  while (!candidates.empty()) {
    const auto best =
        std::max_element(candidates.begin(), candidates.end(),
                         [scores](int64_t a, int64_t b) { return (*scores)[a] < (*scores)[b]; });
    const int64_t winner = *best;
    kept.push_back(winner);
    candidates.erase(best);
    for (const int64_t i : candidates) (*scores)[i] *= factor(overlap(winner, i));
    std::erase_if(candidates, [&](int64_t i) { return (*scores)[i] < min_score; });
  }
  return kept;
}

}  // namespace caffe2

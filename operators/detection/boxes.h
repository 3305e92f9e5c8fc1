// Boxes in images, for detection: transforms by predicted offsets, and non-maximum suppression.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

// Corners in pixels; x to the right, y downwards.
struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

// Measures boxes. A box that covers whole pixels is x2 - x1 + 1 wide (`one` is 1); a box between
// points is x2 - x1 wide (`one` is 0).
struct BoxMeasure {
  float one = 1;
  float width(const Box& box) const { return box.x2 - box.x1 + one; }
  float height(const Box& box) const { return box.y2 - box.y1 + one; }
  float area(const Box& box) const { return width(box) * height(box); }
  // Intersection over union; 0 for disjoint boxes.
  float overlap(const Box& a, const Box& b) const;
  // The part of the box inside an image.
  Box clip(const Box& box, int64_t image_height, int64_t image_width) const;
};

// A rotated box: centre and sides in pixels, angle in degrees counter-clockwise.
struct RotatedBox {
  float x = 0, y = 0, width = 0, height = 0, angle = 0;
};

// Intersection over union of the two rectangles.
float RotatedOverlap(const RotatedBox& a, const RotatedBox& b);

// Moves and scales boxes by predicted (dx, dy, dw, dh): the centre by (dx width, dy height), the
// sides by the factors (e^dw, e^dh), which are at most 1000 / 16. Each offset is divided by a
// weight first.
//
// RotatedBoxTransform has the same functions, so that one operator serves both kinds of boxes. Both
// classes read a box from kSize numbers.
class BoxTransform {
 public:
  using BoxType = Box;
  static constexpr int64_t kSize = 4;

  // Reads the arguments correct_transform_coords and legacy_plus_one.
  explicit BoxTransform(const OperatorBase& op, std::vector<float> weights = {1, 1, 1, 1});

  static Box Read(const float* corners) { return {corners[0], corners[1], corners[2], corners[3]}; }
  static void Write(const Box& box, float* to);
  static Box Scale(const Box& box, float factor) {
    return {box.x1 * factor, box.y1 * factor, box.x2 * factor, box.y2 * factor};
  }
  static Box Shift(const Box& box, float x, float y) {
    return {box.x1 + x, box.y1 + y, box.x2 + x, box.y2 + y};
  }
  Box Apply(const Box& box, const float* delta) const;
  Box Clip(const Box& box, int64_t image_height, int64_t image_width) const {
    return measure_.clip(box, image_height, image_width);
  }
  float Overlap(const Box& a, const Box& b) const { return measure_.overlap(a, b); }
  // True if both sides are at least `min`, and the centre is above height_limit and left of
  // width_limit.
  bool IsLarge(const Box& box, float min, float height_limit, float width_limit) const;
  // Documents the arguments, including `rotated` and the arguments of RotatedBoxTransform.
  static void Describe(OpSchema& schema);

 private:
  BoxMeasure measure_;
  float end_ = 0;  // subtracted from the lower right corner
  std::vector<float> weights_;
};

// BoxTransform for rotated boxes. A fifth prediction, da in radians, is added to the angle.
class RotatedBoxTransform {
 public:
  using BoxType = RotatedBox;
  static constexpr int64_t kSize = 5;

  // Reads the arguments angle_bound_on, angle_bound_lo, angle_bound_hi, clip_angle_thresh and
  // legacy_plus_one. Throws EnforceNotMet unless the bounds are a multiple of 180 degrees apart.
  explicit RotatedBoxTransform(const OperatorBase& op, std::vector<float> weights = {1, 1, 1, 1});

  static RotatedBox Read(const float* box) { return {box[0], box[1], box[2], box[3], box[4]}; }
  static void Write(const RotatedBox& box, float* to);
  static RotatedBox Scale(const RotatedBox& box, float factor) {
    return {box.x * factor, box.y * factor, box.width * factor, box.height * factor, box.angle};
  }
  static RotatedBox Shift(const RotatedBox& box, float x, float y) {
    return {box.x + x, box.y + y, box.width, box.height, box.angle};
  }
  RotatedBox Apply(const RotatedBox& box, const float* delta) const;
  // Only boxes that are nearly upright are clipped.
  RotatedBox Clip(const RotatedBox& box, int64_t image_height, int64_t image_width) const;
  static float Overlap(const RotatedBox& a, const RotatedBox& b) { return RotatedOverlap(a, b); }
  static bool IsLarge(const RotatedBox& box, float min, float height_limit, float width_limit);

 private:
  BoxMeasure measure_;
  bool bound_ = true;
  float low_ = -90, high_ = 90, upright_ = 1;
  std::vector<float> weights_;
};

// The overlap of two boxes, given by their indices.
using OverlapFunction = std::function<float(int64_t, int64_t)>;

// The indices [0, n) by descending score, equal scores by ascending index; at most `limit` of them
// (0 or less: all). Throws EnforceNotMet for a NaN.
std::vector<int64_t> SortByScore(int64_t n, const float* scores, int64_t limit);

// Greedy non-maximum suppression. Goes through the boxes in `order`, best first, and keeps each
// that overlaps no kept box by more than `threshold`; at most `limit` (0 or less: all).
std::vector<int64_t> SuppressOverlaps(const std::vector<int64_t>& order, float threshold,
                                      int64_t limit, const OverlapFunction& overlap);

// Soft non-maximum suppression (Bodla et al., ICCV 2017): a box that overlaps with a better one
// loses score instead of being dropped.
struct SoftSuppression {
  bool gaussian = false;   // score *= exp(-overlap^2 / sigma); else linear:
  float sigma = 0.5f;      // score *= 1 - overlap where it is above the threshold
  float threshold = 0.3f;  // > 0
  float min_score = 0.001f;

  // Returns the indices of the kept candidates, best first, and lowers their scores. Drops a
  // candidate whose lowered score is below min_score.
  std::vector<int64_t> Run(std::vector<int64_t> candidates, const OverlapFunction& overlap,
                           std::vector<float>* scores) const;
};

}  // namespace caffe2

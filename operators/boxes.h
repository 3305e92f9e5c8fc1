// Boxes in images, for detection: how predicted offsets move them, and which of them to keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

// Corners in pixels; x to the right, y downwards.
struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

// How large a box is: one that covers whole pixels is x2 - x1 + 1 wide (`one` is 1), one between
// points x2 - x1 (`one` is 0).
struct BoxMeasure {
  float one = 1;
  float width(const Box& box) const { return box.x2 - box.x1 + one; }
  float height(const Box& box) const { return box.y2 - box.y1 + one; }
  float area(const Box& box) const { return width(box) * height(box); }
  // Intersection over union; 0 for boxes that do not meet.
  float overlap(const Box& a, const Box& b) const;
  // The part of the box in an image of whole pixels.
  Box clip(const Box& box, int64_t image_height, int64_t image_width) const;
};

// Moves and scales boxes by predicted (dx, dy, dw, dh): the centre by (dx width, dy height), the
// sides by (e^dw, e^dh), which are limited to 1000 / 16 times. Each is divided by a weight first.
class BoxTransform {
 public:
  // Reads the arguments correct_transform_coords and legacy_plus_one. Throws EnforceNotMet if the
  // operator asks for rotated boxes, which there are none of.
  explicit BoxTransform(const OperatorBase& op, std::vector<float> weights = {1, 1, 1, 1});

  Box Apply(const Box& box, const float* delta) const;
  const BoxMeasure& measure() const { return measure_; }
  // The documentation of the arguments.
  static void Describe(OpSchema& schema);

 private:
  BoxMeasure measure_;
  float end_ = 0;  // subtracted from the lower right corner
  std::vector<float> weights_;
};

// The indices [0, n) by descending score, equal ones in ascending order; the first `limit` of them
// (all if it is 0 or less). Throws on a NaN.
std::vector<int64_t> SortByScore(int64_t n, const float* scores, int64_t limit);

// Greedy non-maximum suppression: of the boxes `order` names, best first, keeps each that overlaps
// with none kept before by more than `threshold`; at most `limit` (0 or less: all).
std::vector<int64_t> SuppressOverlaps(const std::vector<Box>& boxes,
                                      const std::vector<int64_t>& order, float threshold,
                                      int64_t limit, const BoxMeasure& measure);

// Soft non-maximum suppression (Bodla et al., ICCV 2017): a box that overlaps with a better one
// loses score instead of being dropped.
struct SoftSuppression {
  bool gaussian = false;   // score *= exp(-overlap^2 / sigma); else linear:
  float sigma = 0.5f;      // score *= 1 - overlap where it is above the threshold
  float threshold = 0.3f;  // > 0
  float least_score = 0.001f;

  // Of the boxes that `candidates` names the ones kept, best first; their scores are lowered.
  std::vector<int64_t> Run(const std::vector<Box>& boxes, std::vector<int64_t> candidates,
                           const BoxMeasure& measure, std::vector<float>* scores) const;
};

}  // namespace caffe2

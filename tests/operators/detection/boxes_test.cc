#include "operators/detection/boxes.h"

#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// Whether a point is in the box, whose y axis points down.
bool Contains(const RotatedBox& box, double x, double y) {
  const double angle = box.angle * M_PI / 180, dx = x - box.x, dy = y - box.y;
  return std::abs(dx * std::cos(angle) - dy * std::sin(angle)) <= box.width / 2 &&
         std::abs(dx * std::sin(angle) + dy * std::cos(angle)) <= box.height / 2;
}

// Intersection over union by counting points.
double CountedOverlap(const RotatedBox& a, const RotatedBox& b) {
  constexpr double kStep = 0.02;
  double common = 0, any = 0;
  for (double x = -8; x < 8; x += kStep) {
    for (double y = -8; y < 8; y += kStep) {
      const bool in_a = Contains(a, x, y), in_b = Contains(b, x, y);
      common += in_a && in_b ? 1 : 0;
      any += in_a || in_b ? 1 : 0;
    }
  }
  return common / any;
}

TEST(RotatedOverlapTest, IsThatOfTheRectangles) {
  const float octagon = 2 * (std::sqrt(2.f) - 1);
  EXPECT_NEAR(RotatedOverlap({0, 0, 1, 1, 0}, {0, 0, 1, 1, 45}), octagon / (2 - octagon), 1e-6);
  EXPECT_NEAR(RotatedOverlap({0, 0, 4, 2, 0}, {0, 0, 2, 4, 90}), 1, 1e-6);
  EXPECT_NEAR(RotatedOverlap({3, 1, 4, 2, 30}, {3, 1, 4, 2, -150}), 1, 1e-6);
  EXPECT_EQ(RotatedOverlap({0, 0, 1, 1, 10}, {5, 0, 1, 1, 20}), 0);
  EXPECT_EQ(RotatedOverlap({0, 0, 1, 0, 10}, {0, 0, 1, 1, 10}), 0);
  const Floats random = RandomValues(200, 1);
  for (size_t i = 0; i < random.size(); i += 10) {
    const auto box = [&](size_t at) {
      return RotatedBox{2 * random[at], 2 * random[at + 1], 4 + 2 * random[at + 2],
                        4 + 2 * random[at + 3], 180 * random[at + 4]};
    };
    const RotatedBox a = box(i), b = box(i + 5);
    EXPECT_NEAR(RotatedOverlap(a, b), CountedOverlap(a, b), 0.01);
    EXPECT_NEAR(RotatedOverlap(a, b), RotatedOverlap(b, a), 1e-6);
  }
}

}  // namespace
}  // namespace caffe2::testing

// Operators on boxes and regions that are turned.
#include <algorithm>
#include <cmath>

#include "operators/detection/boxes.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Floats = std::vector<float>;
const Argument kRotated = MakeArgument("rotated", 1);

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

TEST(RotatedBoxTest, BBoxTransformMovesTurnsAndClips) {
  Workspace ws;
  Feed<float>(&ws, "info", {1, 3}, {200, 200, 2});  // of an image of 100 x 100
  Feed<float>(&ws, "rois", {2, 5}, {40, 80, 20, 40, 80, 190, 100, 40, 20, 0});
  // Half a width to the right, a quarter height up, twice as wide; turned by 20 degrees.
  const float turn = 20 * static_cast<float>(M_PI) / 180;
  Feed<float>(&ws, "deltas", {2, 5}, {0.5f, -0.25f, std::log(2.f), 0, turn, 0, 0, 0, 0, turn / 40});
  const auto run = [&](std::vector<Argument> args) {
    args.push_back(kRotated);
    RunOp(&ws, Op("BBoxTransform", {"rois", "deltas", "info"}, {"Y"}, args));
    return FetchValues<float>(ws, "Y");
  };
  const auto expect = [](const Floats& found, const Floats& expected) {
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-3) << i;
  };
  // The second, nearly upright, box is cut off at x = 99, the last pixel: 86.5 to 99 wide 13.5.
  const float last_x = (95 - 9.5f + 99) / 2, last_width = 99 - (95 - 9.5f) + 1;
  expect(run({MakeArgument("apply_scale", 0)}),
         {25, 35, 20, 20, -80, last_x, 50, last_width, 10, 0.5f});
  expect(run({MakeArgument("angle_bound_on", 0)}),
         {50, 70, 40, 40, 100, 2 * last_x, 100, 2 * last_width, 20, 0.5f});
  expect(run({MakeArgument("angle_bound_hi", 270), MakeArgument("clip_angle_thresh", -1.f)}),
         {50, 70, 40, 40, 100, 190, 100, 40, 20, 0.5f});
  ExpectThrows(&ws,
               Op("BBoxTransform", {"rois", "deltas", "info"}, {"Y"},
                  {kRotated, MakeArgument("angle_bound_hi", 100)}),
               "must be 180, 360");
  Feed<float>(&ws, "rois", {2, 4}, Floats(8, 0.f));
  ExpectThrows(&ws, Op("BBoxTransform", {"rois", "deltas", "info"}, {"Y"}, {kRotated}), "M x 5");
}

TEST(RotatedBoxTest, GenerateProposalsDropsOverlapsOfTurnedBoxes) {
  Workspace ws;
  // Two positions, 10 pixels apart, and two anchors: both 20 x 2, one turned upright.
  Feed<float>(&ws, "scores", {1, 2, 1, 2}, {0.9f, 0.8f, 0.7f, 0.6f});
  Feed<float>(&ws, "deltas", {1, 10, 1, 2}, Floats(20, 0.f));
  Feed<float>(&ws, "info", {1, 3}, {60, 60, 1});
  Feed<float>(&ws, "anchors", {2, 5}, {20, 30, 20, 2, 0, 20, 30, 20, 2, 90});
  const OperatorDef op =
      Op("GenerateProposals", {"scores", "deltas", "info", "anchors"}, {"rois", "probs"},
         {kRotated, MakeArgument("spatial_scale", 0.1f), MakeArgument("min_size", 1.f),
          MakeArgument("nms_thresh", 0.2f)});
  RunOp(&ws, op, true);
  // The flat ones overlap by a third; the upright ones with nothing by much.
  ExpectTensor(ws, "rois", {3, 6},
               {0, 20, 30, 20, 2, 0, 0, 20, 30, 20, 2, 90, 0, 30, 30, 20, 2, 90});
  ExpectTensor(ws, "probs", {3}, {0.9f, 0.7f, 0.6f});
  Feed<float>(&ws, "anchors", {2, 4}, Floats(8, 1.f));
  ExpectThrows(&ws, op, "A x 5");
}

TEST(RotatedBoxTest, BoxWithNMSLimitSuppressesTurnedBoxes) {
  Workspace ws;
  Feed<float>(&ws, "scores", {3, 2}, {0, 0.9f, 0, 0.8f, 0, 0.7f});
  const Floats boxes = {50, 50, 40, 4, 30, 50, 50, 40, 4, 35, 50, 50, 40, 4, 120};
  Floats columns;  // for the background too
  for (size_t i = 0; i < 15; i += 5) {
    for (int c = 0; c < 2; ++c) columns.insert(columns.end(), &boxes[i], &boxes[i] + 5);
  }
  Feed<float>(&ws, "boxes", {3, 10}, columns);
  const auto run = [&](std::vector<Argument> args) {
    args.push_back(kRotated);
    RunOp(&ws, Op("BoxWithNMSLimit", {"scores", "boxes"}, {"s", "b", "c"}, args), true);
  };
  run({});
  ExpectTensor(ws, "s", {2}, {0.9f, 0.7f});
  ExpectTensor(ws, "b", {2, 5}, {50, 50, 40, 4, 30, 50, 50, 40, 4, 120});
  run({MakeArgument("nms", 0.9f)});
  ExpectTensor(ws, "s", {3}, {0.9f, 0.8f, 0.7f});
  run({MakeArgument("soft_nms_enabled", 1)});
  const float overlap = RotatedOverlap({50, 50, 40, 4, 30}, {50, 50, 40, 4, 35});
  EXPECT_GT(overlap, 0.3f);
  ExpectTensor(ws, "s", {3}, {0.9f, 0.7f, 0.8f * (1 - overlap)});
}

// One sample in the middle of each cell, from the definition.
TEST(RoIAlignRotatedTest, AveragesTurnedCells) {
  Workspace ws;
  const int64_t height = 9, width = 8;
  FeedRandom(&ws, "X", {2, 2, height, width}, 1);
  const Floats regions = {1, 4, 4, 4, 3, 30, 0, 3, 5, 2, 6, -75, 0, 1, 1, 6, 6, 200};
  Feed<float>(&ws, "R", {3, 6}, regions);
  const auto x = FetchValues<float>(ws, "X");
  Floats expected;
  for (int r = 0; r < 3; ++r) {
    const float* roi = &regions[6 * r];
    const double angle = roi[5] * M_PI / 180;
    for (int c = 0; c < 2; ++c) {
      for (int cell = 0; cell < 6; ++cell) {  // 2 x 3
        const double u = roi[3] * ((cell % 3 + 0.5) / 3 - 0.5);
        const double v = roi[4] * ((cell / 3 + 0.5) / 2 - 0.5);
        double column = roi[1] + u * std::cos(angle) + v * std::sin(angle);
        double row = roi[2] + v * std::cos(angle) - u * std::sin(angle);
        double sum = 0;
        if (row >= -1 && row <= height && column >= -1 && column <= width) {
          row = std::clamp(row, 0., height - 1.);
          column = std::clamp(column, 0., width - 1.);
          for (int64_t i = 0; i < height * width; ++i) {
            sum += x[((static_cast<int64_t>(roi[0]) * 2 + c) * height * width) + i] *
                   std::max(0., 1 - std::abs(row - static_cast<double>(i / width))) *
                   std::max(0., 1 - std::abs(column - static_cast<double>(i % width)));
          }
        }
        expected.push_back(static_cast<float>(sum));
      }
    }
  }
  const OperatorDef op = Op("RoIAlignRotated", {"X", "R"}, {"Y"},
                            {MakeArgument("pooled_h", 2), MakeArgument("pooled_w", 3),
                             MakeArgument("sampling_ratio", 1)});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2, 2, 3}, expected, 1e-4f, 1e-5f);
  CheckGradient(&ws, op, {0});
}

TEST(RoIAlignRotatedTest, WithoutAnAngleIsRoIAlignAndRejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 3, 10, 12}, 1);
  Feed<float>(&ws, "corners", {2, 4}, {2, 1, 8, 7, 0, 0, 5, 3});
  Feed<float>(&ws, "centres", {2, 5}, {10, 8, 12, 12, 0, 5, 3, 10, 6, 0});
  for (const int aligned : {0, 1}) {
    const auto op = [aligned](const char* type, const char* regions, float scale) {
      return Op(type, {"X", regions}, {regions[1] == 'o' ? "Y" : "Z"},
                {MakeArgument("pooled_h", 3), MakeArgument("pooled_w", 2),
                 MakeArgument("spatial_scale", scale), MakeArgument("aligned", aligned)});
    };
    RunOp(&ws, op("RoIAlign", "corners", 1));
    RunOp(&ws, op("RoIAlignRotated", "centres", 0.5f));
    ExpectTensor(ws, "Z", Fetch(ws, "Y").sizes(), FetchValues<float>(ws, "Y"), 1e-4f, 1e-5f);
  }
  Feed<float>(&ws, "nan", {1, 5}, {1, 1, 1, 1, NAN});
  ExpectThrows(&ws, Op("RoIAlignRotated", {"X", "nan"}, {"Y"}), "rotated by");
  ExpectThrows(&ws, Op("RoIAlignRotated", {"X", "corners"}, {"Y"}), "R x 6");
  Feed<float>(&ws, "far", {1, 6}, {1, 1, 1, 1, 1, 0});
  ExpectThrows(&ws, Op("RoIAlignRotated", {"X", "far"}, {"Y"}), "image 1 of 1");
}

}  // namespace
}  // namespace caffe2::testing

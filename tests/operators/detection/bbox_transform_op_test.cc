#include <cmath>

#include "operators/detection/boxes.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BBoxTransformTest, MovesAndScalesBoxes) {
  Workspace ws;
  // A box of 10 x 20 pixels in an image of 50 x 60, scaled by 2; two classes.
  Feed<float>(&ws, "rois", {1, 4}, {20, 40, 38, 78});
  Feed<float>(&ws, "info", {1, 3}, {100, 120, 2});
  Feed<float>(&ws, "deltas", {1, 8},
              {0.1f, -0.1f, 0, 0, 0, 0, std::log(2.f), 10});  // the last one is limited
  const auto box = [&ws](const std::vector<Argument>& args) {
    RunOp(&ws, Op("BBoxTransform", {"rois", "deltas", "info"}, {"Y", "splits"}, args));
    return FetchValues<float>(ws, "Y");
  };
  // The box is 10..19 x 20..39: centre (15, 30), moved by (1, -2); not one pixel less at the end.
  const auto plain = box({MakeArgument("apply_scale", 0)});
  EXPECT_EQ(FetchValues<float>(ws, "splits"), Floats{1});
  EXPECT_EQ(Floats(plain.begin(), plain.begin() + 4), (Floats{11, 18, 21, 38}));
  // The second is twice as wide, and as high as the image.
  ExpectNear(plain, {11, 18, 21, 38, 5, 0, 25, 49}, 1e-4);
  EXPECT_EQ(plain[5], 0);
  EXPECT_EQ(plain[7], 49);
  const auto correct =
      box({MakeArgument("apply_scale", 0), MakeArgument("correct_transform_coords", 1)});
  EXPECT_EQ(Floats(correct.begin(), correct.begin() + 4), (Floats{11, 18, 20, 37}));
  const auto scaled = box({MakeArgument("weights", Floats{10, 10, 5, 5})});
  EXPECT_NEAR(scaled[0], 2 * 10.1f, 1e-4);
  EXPECT_NEAR(scaled[1], 2 * 19.8f, 1e-4);
  // Boxes between points are 9 x 19: centre (14.5, 29.5).
  const auto points = box({MakeArgument("apply_scale", 0), MakeArgument("legacy_plus_one", 0)});
  EXPECT_NEAR(points[0], 10.9f, 1e-4);
  EXPECT_NEAR(points[2], 19.9f, 1e-4);
}

TEST(BBoxTransformTest, TellsImagesApartAndRejectsBadInput) {
  Workspace ws;
  Feed<float>(&ws, "rois", {3, 5}, {0, 0, 0, 9, 9, 1, 0, 0, 9, 9, 1, 5, 5, 9, 9});
  Feed<float>(&ws, "deltas", {3, 4}, Floats(12, 0.f));
  Feed<float>(&ws, "info", {2, 3}, {8, 8, 1, 20, 20, 1});
  const OperatorDef op = Op("BBoxTransform", {"rois", "deltas", "info"}, {"Y", "splits"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 4}, {0, 0, 7, 7, 0, 0, 10, 10, 5, 5, 10, 10});
  EXPECT_EQ(FetchValues<float>(ws, "splits"), (Floats{1, 2}));
  Feed<float>(&ws, "info", {1, 3}, {8, 8, 1});
  ExpectThrows(&ws, op, "image index 1 of a box is out of range for 1 images");
  Feed<float>(&ws, "info", {2, 3}, {8, 8, 0, 8, 8, 1});
  ExpectThrows(&ws, op, "scale of image 0");
  Feed<float>(&ws, "deltas", {3, 5}, Floats(15, 0.f));
  ExpectThrows(&ws, op, "M x 4K");
}

TEST(RotatedBoxTest, BBoxTransformMovesTurnsAndClips) {
  Workspace ws;
  Feed<float>(&ws, "info", {1, 3}, {200, 200, 2});  // of an image of 100 x 100
  Feed<float>(&ws, "rois", {2, 5}, {40, 80, 20, 40, 80, 190, 100, 40, 20, 0});
  // Half a width to the right, a quarter height up, twice as wide; turned by 20 degrees.
  const float turn = 20 * static_cast<float>(M_PI) / 180;
  Feed<float>(&ws, "deltas", {2, 5}, {0.5f, -0.25f, std::log(2.f), 0, turn, 0, 0, 0, 0, turn / 40});
  const auto run = [&](std::vector<Argument> args) {
    args.push_back(MakeArgument("rotated", 1));
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
                  {MakeArgument("rotated", 1), MakeArgument("angle_bound_hi", 100)}),
               "must be 180, 360");
  Feed<float>(&ws, "rois", {2, 4}, Floats(8, 0.f));
  ExpectThrows(&ws,
               Op("BBoxTransform", {"rois", "deltas", "info"}, {"Y"}, {MakeArgument("rotated", 1)}),
               "M x 5");
}

}  // namespace
}  // namespace caffe2::testing

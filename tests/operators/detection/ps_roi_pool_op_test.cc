#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr int kGroups = 2, kOutputs = 3, kHeight = 6, kWidth = 5;

OperatorDef PSRoIPool(float scale = 1, int groups = kGroups, int outputs = kOutputs) {
  return Op("PSRoIPool", {"X", "R"}, {"Y", "channels"},
            {MakeArgument("group_size", groups), MakeArgument("output_dim", outputs),
             MakeArgument("spatial_scale", scale)});
}

// The average of channel c of image n over the pixels that [y, y + h) x [x, x + w) touches.
double AverageOf(const std::vector<float>& pixels, int n, int c, double y, double h, double x,
                 double w) {
  double sum = 0;
  int count = 0;
  for (int i = 0; i < kHeight; ++i) {
    for (int j = 0; j < kWidth; ++j) {
      if (i + 1 <= y || i >= y + h || j + 1 <= x || j >= x + w) continue;
      sum += pixels[((n * kOutputs * kGroups * kGroups + c) * kHeight + i) * kWidth + j];
      ++count;
    }
  }
  return count == 0 ? 0 : sum / count;
}

TEST(PSRoIPoolTest, MatchesReference) {
  for (const float scale : {1.f, 0.5f}) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, kOutputs * kGroups * kGroups, kHeight, kWidth}, 1);
    // Whole, fractional, a single pixel, beyond an edge, and outside.
    const std::vector<float> regions = {0, 0, 0, 4, 5, 1, 0.6f, 1.2f, 3.4f, 4.8f, 1,  2, 2,
                                        2, 2, 0, 3, 3, 9, 9,    0,    40,   40,   50, 50};
    Feed<float>(&ws, "R", {5, 5}, regions);
    const std::vector<float> x = FetchValues<float>(ws, "X");
    std::vector<float> expected;
    std::vector<int> channels;
    for (int r = 0; r < 5; ++r) {
      const float* roi = regions.data() + r * 5;
      const double left = std::round(roi[1]) * scale, top = std::round(roi[2]) * scale;
      const double width = (std::round(roi[3]) + 1) * scale - left;
      const double height = (std::round(roi[4]) + 1) * scale - top;
      for (int k = 0; k < kOutputs; ++k) {
        for (int i = 0; i < kGroups; ++i) {
          for (int j = 0; j < kGroups; ++j) {
            channels.push_back((k * kGroups + i) * kGroups + j);
            expected.push_back(static_cast<float>(
                AverageOf(x, static_cast<int>(roi[0]), channels.back(), top + i * height / kGroups,
                          height / kGroups, left + j * width / kGroups, width / kGroups)));
          }
        }
      }
    }
    RunOp(&ws, PSRoIPool(scale));
    ExpectTensor(ws, "Y", {5, kOutputs, kGroups, kGroups}, expected);
    EXPECT_EQ(FetchValues<int>(ws, "channels"), channels);
    CheckGradient(&ws, PSRoIPool(scale), {0});
  }
}

TEST(PSRoIPoolTest, TakesNoRegions) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 1, 2, 2}, 1);
  Feed<float>(&ws, "R", {0, 5}, {});
  RunOp(&ws, PSRoIPool(1, 1, 1));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Shape{0, 1, 1, 1}));
  RunOp(&ws, Op("PSRoIPoolGradient", {"X", "R", "channels", "Y"}, {"dX"}));
  ExpectTensor(ws, "dX", {1, 1, 2, 2}, Floats(4, 0.f));
}

TEST(PSRoIPoolTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 12, 4, 4}, 1);
  Feed<float>(&ws, "R", {1, 5}, {2, 0, 0, 3, 3});
  ExpectThrows(&ws, PSRoIPool(), "in image 2, but there are 2 images");
  Feed<float>(&ws, "R", {1, 5}, {0, 0, 0, INFINITY, 3});
  ExpectThrows(&ws, PSRoIPool(), "corner at inf");
  ExpectThrows(&ws, PSRoIPool(1, 2, 4), "output_dim * group_size^2 = 16 channels");
  ExpectThrows(&ws, PSRoIPool(0), "spatial_scale must be positive, found 0");
  ExpectThrows(&ws, PSRoIPool(1, 0), "group_size must be positive, found 0");
  ExpectThrows(&ws, PSRoIPool(1, 2, 0), "output_dim must be positive, found 0");
  ExpectThrows(&ws,
               Op("PSRoIPoolGradient", {"X", "R", "R", "R"}, {"dX"},
                  {MakeArgument("group_size", 2), MakeArgument("output_dim", 3)}),
               "dY must have 12 elements");
  Feed<float>(&ws, "R", {1, 4}, {0, 0, 0, 3});
  ExpectThrows(&ws, PSRoIPool(), "R x 5");
}

}  // namespace
}  // namespace caffe2::testing

#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

OperatorDef RoIPool(float scale = 1, int cells = 2, const char* type = "RoIPool") {
  return Op(type, {"X", "R"}, {"Y", "argmax"},
            {MakeArgument("pooled_h", cells), MakeArgument("pooled_w", cells),
             MakeArgument<float>("spatial_scale", scale)});
}

// 2 images of 1 channel, 4 x 4: element = 100 * image + 10 * row + column.
void FeedImages(Workspace* ws) {
  std::vector<float> x;
  for (int i = 0; i < 32; ++i) {
    x.push_back(static_cast<float>(100 * (i / 16) + 10 * (i / 4 % 4) + i % 4));
  }
  Feed(ws, "X", {2, 1, 4, 4}, x);
}

TEST(RoIPoolTest, TakesMaximaOfCells) {
  Workspace ws;
  FeedImages(&ws);
  // The whole of image 1; a region of 3 x 3 of image 0, whose cells overlap.
  Feed<float>(&ws, "R", {2, 5}, {1, 0, 0, 3, 3, 0, 1, 0, 3, 2});
  RunOp(&ws, RoIPool());
  ExpectTensor(ws, "Y", {2, 1, 2, 2}, {111, 113, 131, 133, 12, 13, 22, 23});
  EXPECT_EQ(FetchValues<int>(ws, "argmax"), (std::vector<int>{5, 7, 13, 15, 6, 7, 10, 11}));
  RunOp(&ws, Op("RoIPool", {"X", "R"}, {"Y"}, {MakeArgument("is_test", 1)}));
  ExpectTensor(ws, "Y", {2, 1, 1, 1}, {133, 23});
  // Half the resolution; a region outside of the image.
  Feed<float>(&ws, "R", {2, 5}, {0, 2, 2, 6, 6, 0, 20, 20, 24, 24});
  RunOp(&ws, RoIPool(0.5f, 1));
  ExpectTensor(ws, "Y", {2, 1, 1, 1}, {33, 0});
  EXPECT_EQ(FetchValues<int>(ws, "argmax"), (std::vector<int>{15, -1}));
}

TEST(RoIPoolTest, GradientIsNumericOne) {
  Workspace ws;
  FeedImages(&ws);
  Feed<float>(&ws, "R", {3, 5}, {1, 0, 0, 3, 3, 0, 1, 0, 3, 2, 0, 9, 9, 9, 9});
  CheckGradient(&ws, RoIPool(), {0});
}

TEST(RoIPoolTest, DetectronsNameIsTheSame) {
  Workspace ws;
  FeedImages(&ws);
  Feed<float>(&ws, "R", {2, 5}, {1, 0, 0, 3, 3, 0, 1, 0, 3, 2});
  RunOp(&ws, RoIPool(1, 2, "RoIPoolF"));
  ExpectTensor(ws, "Y", {2, 1, 2, 2}, {111, 113, 131, 133, 12, 13, 22, 23});
  EXPECT_EQ(FetchValues<int>(ws, "argmax"), (std::vector<int>{5, 7, 13, 15, 6, 7, 10, 11}));
  CheckGradient(&ws, RoIPool(1, 2, "RoIPoolF"), {0});
  ExpectThrows(&ws, Op("RoIPoolF", {"X", "R"}, {"Y"}), "RoIPoolF");
}

TEST(RoIPoolTest, RejectsBadInput) {
  Workspace ws;
  FeedImages(&ws);
  Feed<float>(&ws, "R", {1, 5}, {2, 0, 0, 3, 3});
  ExpectThrows(&ws, RoIPool(), "in image 2, but there are 2 images");
  Feed<float>(&ws, "R", {1, 5}, {0, 0, 0, INFINITY, 3});
  ExpectThrows(&ws, RoIPool(), "corner at inf");
  Feed<float>(&ws, "R", {1, 4}, {0, 0, 0, 3});
  ExpectThrows(&ws, RoIPool(), "R x 5");
  ExpectThrows(&ws, RoIPool(1, 0), "pooled_h");
  ExpectThrows(&ws, Op("RoIPool", {"X", "R"}, {"Y"}), "two outputs");
}

}  // namespace
}  // namespace caffe2::testing

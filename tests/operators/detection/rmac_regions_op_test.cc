#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(RMACRegionsTest, CoversImages) {
  Workspace ws;
  const auto scales = [](int n) { return MakeArgument("scales", n); };
  FeedRandom(&ws, "X", {2, 1, 4, 4}, 1);
  RunOp(&ws, Op("RMACRegions", {"X"}, {"R"}, {scales(2)}), true);
  // The whole image; then two by two squares of side 2 at 0 and 2, column by column.
  const Floats one{0, 0, 3, 3, 0, 0, 1, 1, 0, 2, 1, 3, 2, 0, 3, 1, 2, 2, 3, 3};
  Floats expected;
  for (int image = 0; image < 2; ++image) {
    for (int i = 0; i < 5; ++i) {
      expected.push_back(static_cast<float>(image));
      expected.insert(expected.end(), one.begin() + 4 * i, one.begin() + 4 * i + 4);
    }
  }
  ExpectTensor(ws, "R", {10, 5}, expected);
  // Steps of 3 / 1, 3 / 2, ... leave an overlap of 2 / 5, 7 / 10, ...: one square more.
  FeedRandom(&ws, "X", {1, 1, 5, 8}, 1);
  RunOp(&ws, Op("RMACRegions", {"X"}, {"R"}, {scales(1)}), true);
  ExpectTensor(ws, "R", {2, 5}, {0, 0, 0, 4, 4, 0, 3, 0, 7, 4});
  FeedRandom(&ws, "X", {1, 1, 8, 5}, 1);
  RunOp(&ws, Op("RMACRegions", {"X"}, {"R"}, {scales(1)}), true);
  ExpectTensor(ws, "R", {2, 5}, {0, 0, 0, 4, 4, 0, 0, 3, 4, 7});
  // A pixel has no squares of scale 2.
  FeedRandom(&ws, "X", {1, 1, 1, 1}, 1);
  RunOp(&ws, Op("RMACRegions", {"X"}, {"R"}, {scales(3)}), true);
  ExpectTensor(ws, "R", {1, 5}, {0, 0, 0, 0, 0});
  FeedRandom(&ws, "X", {1, 1, 0, 1}, 1);
  ExpectThrows(&ws, Op("RMACRegions", {"X"}, {"R"}), "X must be images with pixels in order NCHW");
}

}  // namespace
}  // namespace caffe2::testing

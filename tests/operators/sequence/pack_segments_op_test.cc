#include <limits>

#include "tests/operators/op_test.h"
#include "tests/operators/segment/lengths_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(LengthsTest, PackAndUnpackSegments) {
  FeedRandom(&ws, "X", {6, 2}, 1);
  const auto x = FetchValues<float>(ws, "X");
  const OperatorDef pack =
      Op("PackSegments", {"lengths", "X"}, {"P", "M"}, {MakeArgument("return_presence_mask", 1)});
  RunOp(&ws, pack, true);
  ExpectTensor(ws, "P", {4, 3, 2}, {x[0], x[1], 0, 0, 0, 0, x[2], x[3], x[4],  x[5],  x[6], x[7],
                                    0,    0,    0, 0, 0, 0, x[8], x[9], x[10], x[11], 0,    0});
  EXPECT_EQ(FetchValues<bool>(ws, "M"), (std::vector<bool>{1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0}));
  RunOp(&ws, Op("UnpackSegments", {"lengths", "P"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {6, 2}, x, 0, 0);
  const auto two = MakeArgument("max_length", 2);
  RunOp(&ws, Op("PackSegments", {"lengths", "X"}, {"P"}, {two, MakeArgument("pad_minf", 1)}), true);
  const float low = -std::numeric_limits<float>::infinity();
  ExpectTensor(
      ws, "P", {4, 2, 2},
      {x[0], x[1], low, low, x[2], x[3], x[4], x[5], low, low, low, low, x[8], x[9], x[10], x[11]});
  RunOp(&ws, Op("UnpackSegments", {"lengths", "P"}, {"Y"}, {two}), true);
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Shape{5, 2}));
  Feed<std::string>(&ws, "text", {6}, {"a", "b", "c", "d", "e", "f"});
  RunOp(&ws, Op("PackSegments", {"lengths", "text"}, {"T"}), true);
  EXPECT_EQ(FetchValues<std::string>(ws, "T")[5], "d");
  EXPECT_EQ(FetchValues<std::string>(ws, "T")[1], "");
}

TEST_F(LengthsTest, PackedGradientsAreNumericOnes) {
  FeedRandom(&ws, "X", {6, 2}, 1);
  FeedRandom(&ws, "P", {4, 5, 2}, 2);  // longer than any segment
  for (const int length : {2, 5}) {
    const auto max = MakeArgument("max_length", length);
    CheckGradient(&ws, Op("PackSegments", {"lengths", "X"}, {"Y"}, {max}), {1});
  }
  CheckGradient(&ws, Op("PackSegments", {"lengths", "X"}, {"Y"}), {1});
  CheckGradient(&ws, Op("UnpackSegments", {"lengths", "P"}, {"Y"}), {1});
  FeedRandom(&ws, "short", {4, 2, 2}, 2);
  ExpectThrows(&ws, Op("UnpackSegments", {"lengths", "short"}, {"Y"}),
               "the length of segment 1 (3) is larger than");
  ExpectThrows(&ws, Op("PackSegments", {"lengths", "P"}, {"Y"}), "lengths must add up to the");
  ExpectThrows(&ws, Op("PackSegments", {"lengths", "X"}, {"Y"}, {MakeArgument("max_length", 0)}),
               "max_length");
  ExpectThrows(
      &ws, Op("PackSegments", {"lengths", "X"}, {"Y"}, {MakeArgument("return_presence_mask", 1)}),
      "argument return_presence_mask needs a second output");
}

}  // namespace
}  // namespace caffe2::testing

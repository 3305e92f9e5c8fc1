// Lengths, ranges, padding and packing of segments; masks.
#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/segment/lengths_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(LengthsTest, BecomeIdsAndRangesAndBack) {
  RunOp(&ws, Op("LengthsToSegmentIds", {"lengths"}, {"ids"}), true);
  ExpectInts("ids", {6}, {0, 1, 1, 1, 3, 3});
  RunOp(&ws, Op("SegmentIdsToLengths", {"ids"}, {"Y"}), true);
  ExpectInts("Y", {4}, {1, 3, 0, 2});
  RunOp(&ws, Op("SegmentIdsToRanges", {"ids"}, {"Y"}), true);
  ExpectInts("Y", {4, 2}, {0, 1, 1, 3, 4, 0, 4, 2});
  RunOp(&ws, Op("LengthsToRanges", {"lengths"}, {"Y"}));
  ExpectInts("Y", {4, 2}, {0, 1, 1, 3, 4, 0, 4, 2});
  FeedRandom(&ws, "data", {6, 2}, 1);
  RunOp(&ws, Op("SegmentIdsToLengths", {"ids", "data"}, {"Y"}), true);
  ExpectInts("Y", {6}, {1, 3, 0, 2, 0, 0});
  Feed<int64_t>(&ws, "none", {0}, {});
  RunOp(&ws, Op("SegmentIdsToLengths", {"none"}, {"Y"}), true);
  ExpectInts("Y", {0}, {});
  RunOp(&ws, Op("LengthsToSegmentIds", {"none"}, {"Y"}), true);
  ExpectInts("Y", {0}, {});
}

TEST_F(LengthsTest, BecomeWeightsAndShapes) {
  RunOp(&ws, Op("LengthsToWeights", {"lengths"}, {"Y"}), true);
  const float third = 1 / std::sqrt(3.f), half = 1 / std::sqrt(2.f);
  ExpectTensor(ws, "Y", {6}, {1, third, third, third, half, half});
  RunOp(&ws, Op("LengthsToWeights", {"lengths"}, {"Y"}, {MakeArgument<float>("power", 1.f)}), true);
  ExpectTensor(ws, "Y", {6}, {1, 1 / 3.f, 1 / 3.f, 1 / 3.f, 0.5f, 0.5f});
  Feed<int64_t>(&ws, "same", {3}, {5, 5, 5});
  RunOp(&ws, Op("LengthsToShape", {"same"}, {"Y"}));
  ExpectInts("Y", {2}, {3, 5});
  ExpectThrows(&ws, Op("LengthsToShape", {"lengths"}, {"Y"}),
               "all lengths must be the same, found ");
}

TEST_F(LengthsTest, TileAndGatherRows) {
  FeedRandom(&ws, "X", {4, 2}, 1);
  const auto x = FetchValues<float>(ws, "X");
  const OperatorDef tile = Op("LengthsTile", {"X", "lengths"}, {"Y"});
  RunOp(&ws, tile, true);
  ExpectTensor(ws, "Y", {6, 2},
               {x[0], x[1], x[2], x[3], x[2], x[3], x[2], x[3], x[6], x[7], x[6], x[7]});
  CheckGradient(&ws, tile, {0});
  Feed<int64_t>(&ws, "take", {3}, {3, 2, 0});
  Feed<float>(&ws, "numbers", {6}, {0, 1, 2, 3, 4, 5});
  RunOp(&ws, Op("LengthsGather", {"numbers", "lengths", "take"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {3}, {4, 5, 0});
  Feed<std::string>(&ws, "items", {6}, {"a", "b", "c", "d", "e", "f"});
  RunOp(&ws, Op("LengthsGather", {"items", "lengths", "take"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (std::vector<std::string>{"e", "f", "a"}));
  ExpectThrows(&ws, Op("LengthsTile", {"items", "lengths"}, {"Y"}), "4 lengths");
  Feed<int64_t>(&ws, "take", {1}, {4});
  ExpectThrows(&ws, Op("LengthsGather", {"items", "lengths", "take"}, {"Y"}), "index 4");
}

TEST_F(LengthsTest, BecomeOffsets) {
  RunOp(&ws, Op("LengthsToOffsets", {"lengths"}, {"Y"}));
  ExpectInts("Y", {4}, {0, 1, 4, 4});
  RunOp(&ws, Op("LengthsToOffsets", {"lengths"}, {"Y"}, {MakeArgument("include_last_offset", 1)}));
  ExpectInts("Y", {5}, {0, 1, 4, 4, 6});
}

TEST_F(LengthsTest, RejectBadInput) {
  Feed<int32_t>(&ws, "bad", {2}, {2, -1});
  for (const char* type : {"LengthsToSegmentIds", "LengthsToRanges", "LengthsToWeights"}) {
    ExpectThrows(&ws, Op(type, {"bad"}, {"Y"}), "length 1 must not be negative");
  }
  ExpectThrows(&ws, Op("SegmentIdsToLengths", {"bad"}, {"Y"}),
               "segment ids must be sorted, but element 1 is -1, after 2");
  Feed<int32_t>(&ws, "matrix", {1, 2}, {0, 1});
  ExpectThrows(&ws, Op("SegmentIdsToLengths", {"matrix"}, {"Y"}), "one axis, found shape [1, 2]");
  Feed<int64_t>(&ws, "huge", {2}, {1LL << 62, 1LL << 62});
  ExpectThrows(&ws, Op("LengthsToSegmentIds", {"huge"}, {"Y"}), "overflows");
  Feed<int64_t>(&ws, "far", {1}, {1LL << 40});
  ExpectThrows(&ws, Op("SegmentIdsToRanges", {"far"}, {"Y"}), "a segment id must be less than ");
}

}  // namespace
}  // namespace caffe2::testing

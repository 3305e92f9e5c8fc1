#include "tests/operators/op_test.h"
#include "tests/operators/segment/segment_test_util.h"

namespace caffe2::testing {
namespace {

class SparseLengthsOpTest : public ::testing::TestWithParam<SegmentCase> {};

TEST_P(SparseLengthsOpTest, MatchesReference) { ExpectSegmentReference(GetParam()); }
TEST_P(SparseLengthsOpTest, GradientIsNumericOne) { CheckSegmentGradient(GetParam()); }
TEST_P(SparseLengthsOpTest, TakesNothing) { ExpectNoSegments(GetParam()); }
TEST_P(SparseLengthsOpTest, TakesSixteenBits) { ExpectSixteenBitSegments(GetParam()); }
TEST_P(SparseLengthsOpTest, RejectsBadInput) { ExpectBadSegmentsRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Indexed, SparseLengthsOpTest,
                         ::testing::ValuesIn(SegmentCases("SparseLengths", "lengths", true)),
                         [](const auto& info) { return info.param.type; });

TEST(LengthsReductionTest, SparseOnesReadHalfPrecision) {
  Workspace ws;
  FeedSegments(&ws);
  RunOp(&ws, Op("FloatToHalf", {"T"}, {"T16"}));
  RunOp(&ws, Op("HalfToFloat", {"T16"}, {"T"}));
  RunOp(&ws, Op("SparseLengthsSum", {"T", "index", "lengths"}, {"Y"}));
  RunOp(&ws, Op("SparseLengthsSum", {"T16", "index", "lengths"}, {"Y16"}));
  EXPECT_EQ(FetchValues<float>(ws, "Y"), FetchValues<float>(ws, "Y16"));
}

TEST(LengthsReductionTest, PositionsHaveWeights) {
  Workspace ws;
  Feed<float>(&ws, "T", {3, 1}, {1, 10, 100});
  Feed<float>(&ws, "W", {2}, {2, 3});
  Feed<int64_t>(&ws, "index", {3}, {2, 0, 1});
  Feed<int64_t>(&ws, "lengths", {2}, {1, 2});
  const OperatorDef op =
      Op("SparseLengthsPositionalWeightedSum", {"T", "W", "index", "lengths"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {2, 1}, {200, 32});
  Feed<int64_t>(&ws, "lengths", {1}, {3});
  ExpectThrows(&ws, op, "segment 0 has 3 entries, more than the");
}

}  // namespace
}  // namespace caffe2::testing

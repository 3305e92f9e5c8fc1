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

TEST(LengthsReductionTest, SparseOnesReduceWideRows) {
  for (const std::string reducer : {"Sum", "Mean", "WeightedSum", "PositionalWeightedSum"}) {
    ExpectWideSegments({"SparseLengths" + reducer, "lengths", reducer, true});
  }
}

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

TEST(LengthsReductionTest, FarIndicesAreRefused) {
  Workspace ws;
  Feed<float>(&ws, "T", {3, 1}, {1, 10, 100});
  Feed<int>(&ws, "lengths", {1}, {70});
  const OperatorDef op = Op("SparseLengthsSum", {"T", "index", "lengths"}, {"Y"});
  for (const int64_t wrong : {int64_t{3}, int64_t{-1}, int64_t{1} << 62, INT64_MIN}) {
    std::vector<int64_t> index(70, 2);
    index[66] = wrong;
    Feed(&ws, "index", {70}, index);
    ExpectThrows(&ws, op, "index " + std::to_string(wrong) + " at position 66 is out of range");
  }
  for (const int wrong : {3, -1, INT32_MAX, INT32_MIN}) {
    std::vector<int> index(70, 2);
    index[66] = wrong;
    Feed(&ws, "index", {70}, index);
    ExpectThrows(&ws, op, "index " + std::to_string(wrong) + " at position 66 is out of range");
  }
}

}  // namespace
}  // namespace caffe2::testing

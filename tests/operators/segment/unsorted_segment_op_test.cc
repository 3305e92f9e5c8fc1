#include "tests/operators/op_test.h"
#include "tests/operators/segment/segment_test_util.h"

namespace caffe2::testing {
namespace {

class UnsortedSegmentOpTest : public ::testing::TestWithParam<SegmentCase> {};

TEST_P(UnsortedSegmentOpTest, MatchesReference) { ExpectSegmentReference(GetParam()); }
TEST_P(UnsortedSegmentOpTest, GradientIsNumericOne) { CheckSegmentGradient(GetParam()); }
TEST_P(UnsortedSegmentOpTest, TakesNothing) { ExpectNoSegments(GetParam()); }
TEST_P(UnsortedSegmentOpTest, TakesSixteenBits) { ExpectSixteenBitSegments(GetParam()); }
TEST_P(UnsortedSegmentOpTest, RejectsBadInput) { ExpectBadSegmentsRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rows, UnsortedSegmentOpTest,
                         ::testing::ValuesIn(SegmentCases("UnsortedSegment", "any", false)),
                         [](const auto& info) { return info.param.type; });
INSTANTIATE_TEST_SUITE_P(Indexed, UnsortedSegmentOpTest,
                         ::testing::ValuesIn(SegmentCases("SparseUnsortedSegment", "any", true)),
                         [](const auto& info) { return info.param.type; });

TEST(UnsortedSegmentTest, ReducesWideRows) {
  for (const std::string reducer : {"Sum", "Mean", "WeightedSum"}) {
    ExpectWideSegments({"UnsortedSegment" + reducer, "any", reducer, false});
    ExpectWideSegments({"SparseUnsortedSegment" + reducer, "any", reducer, true});
  }
}

TEST(UnsortedSegmentTest, TakesTheNumberOfSegments) {
  Workspace ws;
  FeedSegments(&ws);
  RunOp(&ws, Op("UnsortedSegmentSum", {"X", "any"}, {"Y"}, {MakeArgument("num_segments", 7)}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{7, 2, 2}));
  ExpectThrows(&ws,
               Op("UnsortedSegmentSum", {"X", "any"}, {"Y"}, {MakeArgument("num_segments", 4)}),
               "out of range for 4");
  Feed<int64_t>(&ws, "any", {6}, {0, 1, 2, 3, 4, INT64_MAX});
  ExpectThrows(&ws, Op("UnsortedSegmentSum", {"X", "any"}, {"Y"}),
               "a segment id must be less than ");
}

}  // namespace
}  // namespace caffe2::testing

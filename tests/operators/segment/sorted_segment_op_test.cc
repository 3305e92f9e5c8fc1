#include "tests/operators/op_test.h"
#include "tests/operators/segment/segment_test_util.h"

namespace caffe2::testing {
namespace {

class SortedSegmentOpTest : public ::testing::TestWithParam<SegmentCase> {};

TEST_P(SortedSegmentOpTest, MatchesReference) { ExpectSegmentReference(GetParam()); }
TEST_P(SortedSegmentOpTest, GradientIsNumericOne) { CheckSegmentGradient(GetParam()); }
TEST_P(SortedSegmentOpTest, TakesNothing) { ExpectNoSegments(GetParam()); }
TEST_P(SortedSegmentOpTest, TakesSixteenBits) { ExpectSixteenBitSegments(GetParam()); }
TEST_P(SortedSegmentOpTest, RejectsBadInput) { ExpectBadSegmentsRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rows, SortedSegmentOpTest,
                         ::testing::ValuesIn(SegmentCases("SortedSegment", "sorted", false)),
                         [](const auto& info) { return info.param.type; });
INSTANTIATE_TEST_SUITE_P(Indexed, SortedSegmentOpTest,
                         ::testing::ValuesIn(SegmentCases("SparseSortedSegment", "sorted", true)),
                         [](const auto& info) { return info.param.type; });

}  // namespace
}  // namespace caffe2::testing

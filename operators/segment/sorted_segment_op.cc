// SortedSegment{Sum, Mean, WeightedSum} and SparseSortedSegment{Sum, Mean, WeightedSum}.
#include "operators/segment/segment_reduction.h"

namespace caffe2 {

REGISTER_ID_SEGMENT_REDUCTION(SortedSegmentSum, kSorted, kSum, false);
REGISTER_ID_SEGMENT_REDUCTION(SortedSegmentMean, kSorted, kMean, false);
REGISTER_ID_SEGMENT_REDUCTION(SortedSegmentWeightedSum, kSorted, kWeightedSum, false);
REGISTER_ID_SEGMENT_REDUCTION(SparseSortedSegmentSum, kSorted, kSum, true);
REGISTER_ID_SEGMENT_REDUCTION(SparseSortedSegmentMean, kSorted, kMean, true);
REGISTER_ID_SEGMENT_REDUCTION(SparseSortedSegmentWeightedSum, kSorted, kWeightedSum, true);

}  // namespace caffe2

// SortedSegment{Sum, Mean, WeightedSum} and SparseSortedSegment{Sum, Mean, WeightedSum} with their
// gradients on CUDA devices.
#include "operators/segment/segment_reduction_cuda.h"

namespace caffe2 {

REGISTER_CUDA_ID_SEGMENT_REDUCTION(SortedSegmentSum, kSorted, kSum, false);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(SortedSegmentMean, kSorted, kMean, false);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(SortedSegmentWeightedSum, kSorted, kWeightedSum, false);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(SparseSortedSegmentSum, kSorted, kSum, true);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(SparseSortedSegmentMean, kSorted, kMean, true);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(SparseSortedSegmentWeightedSum, kSorted, kWeightedSum, true);

}  // namespace caffe2

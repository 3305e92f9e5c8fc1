// UnsortedSegment{Sum, Mean, WeightedSum} and SparseUnsortedSegment{Sum, Mean, WeightedSum} with
// their gradients on CUDA devices.
#include "operators/segment/segment_reduction_cuda.h"

namespace caffe2 {

REGISTER_CUDA_ID_SEGMENT_REDUCTION(UnsortedSegmentSum, kUnsorted, kSum, false);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(UnsortedSegmentMean, kUnsorted, kMean, false);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(UnsortedSegmentWeightedSum, kUnsorted, kWeightedSum, false);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(SparseUnsortedSegmentSum, kUnsorted, kSum, true);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(SparseUnsortedSegmentMean, kUnsorted, kMean, true);
REGISTER_CUDA_ID_SEGMENT_REDUCTION(SparseUnsortedSegmentWeightedSum, kUnsorted, kWeightedSum, true);

}  // namespace caffe2

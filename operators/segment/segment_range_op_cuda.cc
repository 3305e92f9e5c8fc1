// SortedSegmentRange{Sum, Mean, Max, LogSumExp, LogMeanExp} and their gradients on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/segment/segment_range_op.h"

namespace caffe2 {

#define REGISTER_CUDA_RANGE(name, kind)                                          \
  REGISTER_CUDA_OPERATOR(name, SegmentRangeOp<CUDAContext, RangeReducer::kind>); \
  REGISTER_CUDA_OPERATOR(name##Gradient, SegmentRangeGradientOp<CUDAContext, RangeReducer::kind>)
REGISTER_CUDA_RANGE(SortedSegmentRangeSum, kSum);
REGISTER_CUDA_RANGE(SortedSegmentRangeMean, kMean);
REGISTER_CUDA_RANGE(SortedSegmentRangeMax, kMax);
REGISTER_CUDA_RANGE(SortedSegmentRangeLogSumExp, kLogSumExp);
REGISTER_CUDA_RANGE(SortedSegmentRangeLogMeanExp, kLogMeanExp);
#undef REGISTER_CUDA_RANGE

}  // namespace caffe2

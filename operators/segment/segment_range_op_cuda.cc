// SortedSegmentRange{Sum, Mean, Max, LogSumExp, LogMeanExp} and their gradients on CUDA devices.
#include "operators/common/portable_cuda.h"
#include "operators/segment/segment_range_op.h"

namespace caffe2 {

#define REGISTER_CUDA_RANGE(name)                                             \
  REGISTER_CUDA_OPERATOR(SortedSegmentRange##name,                            \
                         SegmentRangeOp<CUDAContext, RangeReducer::k##name>); \
  REGISTER_CUDA_OPERATOR(SortedSegmentRange##name##Gradient,                  \
                         SegmentRangeGradientOp<CUDAContext, RangeReducer::k##name>)
REGISTER_CUDA_RANGE(Sum);
REGISTER_CUDA_RANGE(Mean);
REGISTER_CUDA_RANGE(Max);
REGISTER_CUDA_RANGE(LogSumExp);
REGISTER_CUDA_RANGE(LogMeanExp);
#undef REGISTER_CUDA_RANGE

}  // namespace caffe2

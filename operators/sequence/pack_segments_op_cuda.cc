// PackSegments and UnpackSegments on CUDA devices.
#include "operators/common/row_copier_cuda.h"
#include "operators/sequence/pack_segments_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(PackSegments, PackSegmentsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UnpackSegments, UnpackSegmentsOp<CUDAContext>);

}  // namespace caffe2

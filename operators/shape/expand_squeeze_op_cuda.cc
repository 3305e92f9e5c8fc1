// ExpandDims, Squeeze, PrependDim and MergeDim on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/shape/expand_squeeze_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(ExpandDims, NewShapeOp<CUDAContext, ExpandRule>);
REGISTER_CUDA_OPERATOR(Squeeze, NewShapeOp<CUDAContext, SqueezeRule>);
REGISTER_CUDA_OPERATOR(PrependDim, NewShapeOp<CUDAContext, PrependRule>);
REGISTER_CUDA_OPERATOR(MergeDim, NewShapeOp<CUDAContext, MergeRule>);

}  // namespace caffe2

// Flatten, FlattenToVec and ResizeLike on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/shape/flatten_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Flatten, FlattenOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FlattenToVec, FlattenToVecOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ResizeLike, ResizeLikeOp<CUDAContext>);

}  // namespace caffe2

// Concat and DepthConcat on CUDA devices.
#include "operators/shape/concat_split_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Concat, ConcatOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DepthConcat, ConcatOp<CUDAContext>);

}  // namespace caffe2

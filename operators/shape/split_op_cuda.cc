// Split and DepthSplit on CUDA devices.
#include "operators/shape/concat_split_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Split, SplitOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DepthSplit, SplitOp<CUDAContext>);

}  // namespace caffe2

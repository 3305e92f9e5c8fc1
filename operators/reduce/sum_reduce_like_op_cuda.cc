// SumReduceLike on CUDA devices.
#include "operators/reduce/reduce_cuda.h"
#include "operators/reduce/sum_reduce_like_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SumReduceLike, SumReduceLikeOp<CUDAContext>);

}  // namespace caffe2

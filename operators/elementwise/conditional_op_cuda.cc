#include "operators/elementwise/conditional_op.h"
#include "operators/elementwise/where_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Conditional, ConditionalOp<CUDAContext>);

}  // namespace caffe2

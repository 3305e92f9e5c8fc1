// Adam on CUDA devices.
#include "operators/optimizer/adam_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Adam, AdamOp<CUDAContext>);

}  // namespace caffe2

// RmsProp on CUDA devices.
#include "operators/optimizer/rmsprop_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(RmsProp, RmsPropOp<CUDAContext>);

}  // namespace caffe2

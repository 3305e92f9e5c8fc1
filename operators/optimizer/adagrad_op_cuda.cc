// Adagrad on CUDA devices.
#include "operators/optimizer/adagrad_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Adagrad, AdagradOp<CUDAContext>);

}  // namespace caffe2

// DecayAdagrad on CUDA devices.
#include "operators/optimizer/decay_adagrad_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(DecayAdagrad, DecayAdagradOp<CUDAContext>);

}  // namespace caffe2

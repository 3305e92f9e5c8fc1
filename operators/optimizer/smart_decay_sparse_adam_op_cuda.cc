// SmartDecaySparseAdam on CUDA devices.
#include "operators/optimizer/smart_decay_sparse_adam_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SmartDecaySparseAdam, SmartDecaySparseAdamOp<CUDAContext>);

}  // namespace caffe2

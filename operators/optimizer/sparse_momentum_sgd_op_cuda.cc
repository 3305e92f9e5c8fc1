// SparseMomentumSGDUpdate on CUDA devices.
#include "operators/optimizer/sparse_momentum_sgd_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SparseMomentumSGDUpdate, SparseMomentumSgdOp<CUDAContext>);

}  // namespace caffe2

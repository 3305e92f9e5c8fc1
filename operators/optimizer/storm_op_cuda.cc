// Storm and SparseStorm on CUDA devices.
#include "operators/optimizer/storm_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Storm, StormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SparseStorm, SparseStormOp<CUDAContext>);

}  // namespace caffe2

// Adadelta and SparseAdadelta on CUDA devices.
#include "operators/optimizer/adadelta_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Adadelta, AdadeltaOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SparseAdadelta, SparseAdadeltaOp<CUDAContext>);

}  // namespace caffe2

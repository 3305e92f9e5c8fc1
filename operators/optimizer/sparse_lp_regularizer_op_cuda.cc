// SparseLpRegularizer on CUDA devices.
#include "operators/common/update_rows_cuda.h"
#include "operators/optimizer/sparse_lp_regularizer_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SparseLpRegularizer, SparseLpRegularizerOp<CUDAContext>);

}  // namespace caffe2

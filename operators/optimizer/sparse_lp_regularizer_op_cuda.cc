// SparseLpRegularizer on CUDA devices.
#include "operators/optimizer/sparse_lp_regularizer_op.h"
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SparseLpRegularizer, SparseLpRegularizerOp<CUDAContext>);

}  // namespace caffe2

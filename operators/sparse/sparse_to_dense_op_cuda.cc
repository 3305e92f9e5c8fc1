// SparseToDense and EnsureDense on CUDA devices.
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SparseToDense, SparseToDenseOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(EnsureDense, CopyOp<CUDAContext>);

}  // namespace caffe2

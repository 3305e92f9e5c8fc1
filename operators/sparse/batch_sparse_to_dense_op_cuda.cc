// BatchSparseToDense and BatchDenseToSparse on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/sparse/batch_sparse_to_dense_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(BatchSparseToDense, BatchSparseToDenseOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchDenseToSparse, BatchDenseToSparseOp<CUDAContext>);

}  // namespace caffe2

// FC_Sparse on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/matmul/fully_connected_sparse_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(FC_Sparse, FullyConnectedSparseOp<CUDAContext>);

}  // namespace caffe2

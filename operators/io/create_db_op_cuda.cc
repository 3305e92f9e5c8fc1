// CreateDB on CUDA devices: a reader is of the host wherever the operator is placed, as in Caffe2.
#include "caffe2/cuda/context_cuda.h"
#include "operators/io/create_db_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(CreateDB, CreateDBOp<CUDAContext>);

}  // namespace caffe2

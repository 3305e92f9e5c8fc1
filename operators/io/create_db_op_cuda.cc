// CreateDB on CUDA devices: as in Caffe2, the reader is on the host for operators on any device.
#include "caffe2/cuda/context_cuda.h"
#include "operators/io/create_db_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(CreateDB, CreateDBOp<CUDAContext>);

}  // namespace caffe2

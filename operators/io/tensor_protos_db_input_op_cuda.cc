// TensorProtosDBInput on CUDA devices.
#include "operators/io/db_input_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(TensorProtosDBInput, CudaDBInputOp);

}  // namespace caffe2

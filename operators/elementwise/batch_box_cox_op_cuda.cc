#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/batch_box_cox_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(BatchBoxCox, BatchBoxCoxOp<CUDAContext>);

}  // namespace caffe2

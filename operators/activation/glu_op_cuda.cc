#include "operators/activation/glu_op.h"
#include "operators/common/host_device_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Glu, GluOp<CUDAContext>);

}  // namespace caffe2

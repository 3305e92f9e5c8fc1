// SWA and EMA on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/optimizer/weight_average_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SWA, SwaOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(EMA, EmaOp<CUDAContext>);

}  // namespace caffe2

#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/square_root_divide_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SquareRootDivide, SquareRootDivideOp<CUDAContext>);

}  // namespace caffe2

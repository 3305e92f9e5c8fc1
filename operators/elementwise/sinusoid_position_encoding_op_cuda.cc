#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/sinusoid_position_encoding_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SinusoidPositionEncoding, SinusoidPositionEncodingOp<CUDAContext>);

}  // namespace caffe2

// BatchBucketize on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/sparse/one_hot_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(BatchBucketize, BatchBucketizeOp<CUDAContext>);

}  // namespace caffe2

// ScaleBlobs on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/scale_blobs_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(ScaleBlobs, ScaleBlobsOp<CUDAContext>);

}  // namespace caffe2

// SegmentOneHot, BatchOneHot and BatchBucketOneHot on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/sparse/one_hot_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SegmentOneHot, SegmentOneHotOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchOneHot, BatchOneHotOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchBucketOneHot, BatchBucketOneHotOp<CUDAContext>);

}  // namespace caffe2

// SpaceToBatch and BatchToSpace on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/image/space_to_batch_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SpaceToBatch, SpaceBatchOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(BatchToSpace, SpaceBatchOp<CUDAContext, true>);

}  // namespace caffe2

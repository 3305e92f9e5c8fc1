// SequenceMask on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/sequence/sequence_mask_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SequenceMask, SequenceMaskOp<CUDAContext>);

}  // namespace caffe2

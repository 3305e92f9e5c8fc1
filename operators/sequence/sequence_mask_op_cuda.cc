// SequenceMask on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/sequence/sequence_mask_op.h"

namespace caffe2 {

template <typename T>
static void WriteMasked(const MaskElements<T>& elements, int64_t n, CUDAContext* context) {
  ForEach(n, elements, context);
}

REGISTER_CUDA_OPERATOR(SequenceMask, SequenceMaskOp<CUDAContext>);

}  // namespace caffe2

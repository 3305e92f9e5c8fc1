// NCHW2NHWC and NHWC2NCHW on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/shape/order_switch_op.h"
#include "operators/shape/transpose_kernels.h"

namespace caffe2 {

static void TransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t element_bytes,
                              const void* from, void* to, CUDAContext* context) {
  LaunchTransposeMatrices(batch, rows, columns, element_bytes, from, to, context->stream());
}

REGISTER_CUDA_OPERATOR(NCHW2NHWC, OrderSwitchOp<CUDAContext, StorageOrder::kNCHW>);
REGISTER_CUDA_OPERATOR(NHWC2NCHW, OrderSwitchOp<CUDAContext, StorageOrder::kNHWC>);

}  // namespace caffe2

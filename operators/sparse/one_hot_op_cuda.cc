// OneHot on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/sparse/one_hot_op.h"

namespace caffe2 {

static void MarkIndices(const OneHotElements& rows, int64_t n, CUDAContext* context) {
  ForEach(n * rows.classes, rows, context);
}

REGISTER_CUDA_OPERATOR(OneHot, OneHotOp<CUDAContext>);

}  // namespace caffe2

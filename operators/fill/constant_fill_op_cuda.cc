#include "caffe2/cuda/context_cuda.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/fill/constant_fill_op.h"

namespace caffe2 {

template <>
void ConstantFillOp<CUDAContext>::FillOnDevice(int64_t n, void* data) {
  CAFFE_ENFORCE(filler_.meta().copy() == nullptr, "strings exist in host memory only");
  LaunchFill(n, filler_.meta().itemsize(), filler_.bits(), data, context_.stream());
}

REGISTER_CUDA_OPERATOR(ConstantFill, ConstantFillOp<CUDAContext>);

}  // namespace caffe2

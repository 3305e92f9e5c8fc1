// Arithmetic of recurrent networks on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/recurrent/recurrent_network.h"

namespace caffe2 {

template <>
void SetZero<CUDAContext>(Tensor* x, CUDAContext* context) {
  float* data = x->mutable_data<float>();
  ClearBytes(x->nbytes(), data, context);
}

template <>
void AddTo<CUDAContext>(int64_t n, const float* x, float* y, CUDAContext* context) {
  Terms terms;
  terms.x[terms.count++] = y;
  terms.x[terms.count++] = x;
  LaunchSum(n, terms, y, context->stream());
}

}  // namespace caffe2

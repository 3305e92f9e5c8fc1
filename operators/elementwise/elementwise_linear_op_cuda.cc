#include "operators/elementwise/elementwise_linear_op.h"
#include "operators/norm/channel_affine_cuda.h"

namespace caffe2 {

template <>
void ScaleColumns(int64_t n, int64_t d, const float* x, const float* w, const float* b, float* y,
                  CUDAContext* context) {
  ScaleChannels({n, d, 1, true}, x, w, b, y, context);
}
template <>
void SumColumnProducts(int64_t n, int64_t d, const float* x, const float* g, float* sum_gx,
                       float* sum_g, CUDAContext* context) {
  SumChannelProducts({n, d, 1, true}, x, g, sum_gx, sum_g, context);
}

REGISTER_CUDA_OPERATOR(ElementwiseLinear, ElementwiseLinearOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ElementwiseLinearGradient, ElementwiseLinearGradientOp<CUDAContext>);

}  // namespace caffe2

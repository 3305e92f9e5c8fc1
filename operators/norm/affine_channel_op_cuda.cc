// AffineChannel and its gradient on CUDA devices.
#include "operators/norm/affine_channel_op.h"
#include "operators/norm/channel_affine_cuda.h"

namespace caffe2 {

template <typename T>
void ScaleChannels(const ChannelShape& shape, const T* x, const float* scale, const float* bias,
                   T* y, CUDAContext* context) {
  ScaleLayout(LayoutOf(shape), x, scale, bias, y, context);
}
template <typename T>
void SumChannelProducts(const ChannelShape& shape, const T* x, const T* g, float* sum_gx,
                        float* sum_g, CUDAContext* context) {
  SumLayoutProducts(LayoutOf(shape), x, g, sum_gx, sum_g, context);
}

REGISTER_CUDA_OPERATOR(AffineChannel, AffineChannelOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AffineChannelGradient, AffineChannelGradientOp<CUDAContext>);

}  // namespace caffe2

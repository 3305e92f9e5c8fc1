// LayerNorm and its gradient on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/norm/channel_affine_cuda.h"
#include "operators/norm/layer_norm_op.h"
#include "operators/norm/normalization_kernels.h"

namespace caffe2 {

template <typename T>
void NormalizeRows(const LayerNormRows& rows, float epsilon, const T* x, T* y, float* mean,
                   float* stdev, CUDAContext* context) {
  RowNormalization<T> normalization;
  normalization.x = x;
  normalization.epsilon = epsilon;
  normalization.y = y;
  normalization.mean = mean;
  normalization.deviation = stdev;
  LaunchNormalizeRows({.rows = rows.rows, .size = rows.size}, normalization, context->stream());
}

template <typename T>
void NormalizeRowsGradient(const LayerNormRows& rows, const T* dy, const T* y, const float* stdev,
                           T* dx, CUDAContext* context) {
  RowNormalizationGradient<T> gradient;
  gradient.z = y;
  gradient.dy = dy;
  gradient.deviation = stdev;
  gradient.dx = dx;
  LaunchNormalizeRowsGradient({.rows = rows.rows, .size = rows.size}, gradient, context->stream());
}

REGISTER_CUDA_OPERATOR(LayerNorm, LayerNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LayerNormGradient, LayerNormGradientOp<CUDAContext>);

}  // namespace caffe2

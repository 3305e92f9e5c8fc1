// InstanceNorm and its gradient on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/norm/instance_norm_op.h"
#include "operators/norm/normalization_kernels.h"

namespace caffe2 {

template <>
template <typename T>
bool InstanceNormOp<CUDAContext>::DoRunWithType() {
  const Tensor &x = Input(0), &scale = Input(1), &bias = Input(2);
  const Layout l = GetLayout(x, scale, bias);
  float* saved[2] = {nullptr, nullptr};  // mean, inv_stdev
  for (int i = 1; i < OutputSize(); ++i) {
    Output(i)->Resize(l.images, l.channels);
    saved[i - 1] = Output(i)->mutable_data<float>();
  }
  RowNormalization<T> normalization;
  normalization.x = x.data<T>();
  normalization.scale = scale.data<float>();
  normalization.bias = bias.data<float>();
  normalization.epsilon = epsilon_;
  normalization.mean = saved[0];
  normalization.inverse_deviation = saved[1];
  Tensor* y = Output(0);
  if (y != &x) y->ResizeLike(x);
  normalization.y = y->mutable_data<T>();
  LaunchNormalizeRows({l.images * l.channels, l.size, l.channels, l.channel_stride, l.stride},
                      normalization, context_.stream());
  return true;
}

template <>
template <typename T>
bool InstanceNormGradientOp<CUDAContext>::DoRunWithType() {
  const Tensor &x = Input(0), &scale = Input(1), &bias = Input(2), &dy = Input(3);
  const Layout l = GetLayout(x, scale, bias);
  CAFFE_ENFORCE(dy.numel() == x.numel(), "dY must have as many elements as X: dY has shape ",
                ShapeString(dy.sizes()), ", X ", ShapeString(x.sizes()));
  RowNormalizationGradient<T> gradient;
  for (int i = 4; i < InputSize(); ++i) {
    CAFFE_ENFORCE(Input(i).numel() == l.images * l.channels, "input ", i,
                  " must have one value for each image and channel, ", l.images * l.channels,
                  "; found ", Input(i).numel());
    (i == 4 ? gradient.mean : gradient.inverse_deviation) = Input(i).data<float>();
  }
  gradient.x = x.data<T>();
  gradient.dy = dy.data<T>();
  gradient.scale = scale.data<float>();
  gradient.epsilon = epsilon_;
  Tensor sums(context_.device());
  sums.Resize(2, l.images * l.channels);
  gradient.sum_dy = sums.mutable_data<double>();
  gradient.sum_dyz = gradient.sum_dy + l.images * l.channels;
  Tensor *dx = Output(0), *d_scale = Output(1), *d_bias = Output(2);
  dx->ResizeLike(x);
  d_scale->ResizeLike(scale);
  d_bias->ResizeLike(bias);
  gradient.dx = dx->mutable_data<T>();
  const NormalizedRows rows{l.images * l.channels, l.size, l.channels, l.channel_stride, l.stride};
  LaunchNormalizeRowsGradient(rows, gradient, context_.stream());
  LaunchAddRows(rows, gradient.sum_dyz, gradient.sum_dy, d_scale->mutable_data<float>(),
                d_bias->mutable_data<float>(), context_.stream());
  return true;
}

REGISTER_CUDA_OPERATOR(InstanceNorm, InstanceNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(InstanceNormGradient, InstanceNormGradientOp<CUDAContext>);

}  // namespace caffe2

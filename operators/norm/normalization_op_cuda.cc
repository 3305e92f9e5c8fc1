// InstanceNorm, LayerNorm, LRN and PRelu on CUDA devices. cuDNN's LRN, which is outside of its
// graph interface, has no output for the scale; these kernels read and write as little as it does.
#include "caffe2/cuda/context_cuda.h"
#include "operators/activation/prelu_op.h"
#include "operators/norm/instance_norm_op.h"
#include "operators/norm/layer_norm_op.h"
#include "operators/norm/lrn_op.h"
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
  CAFFE_ENFORCE_EQ(dy.numel(), x.numel(), "dY ", ShapeString(dy.sizes()), " for X ",
                   ShapeString(x.sizes()));
  RowNormalizationGradient<T> gradient;
  for (int i = 4; i < InputSize(); ++i) {
    CAFFE_ENFORCE_EQ(Input(i).numel(), l.images * l.channels, "input ", i);
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

template <>
template <typename T>
bool LayerNormOp<CUDAContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const int axis = x.canonical_axis_index(axis_);
  std::vector<int64_t> row_dims(x.sizes().begin(), x.sizes().begin() + axis);
  row_dims.push_back(1);
  RowNormalization<T> normalization;
  normalization.x = x.data<T>();
  normalization.epsilon = epsilon_;
  Output(0)->ResizeLike(x);
  Output(1)->Resize(row_dims);
  Output(2)->Resize(row_dims);
  normalization.y = Output(0)->mutable_data<T>();
  normalization.mean = Output(1)->mutable_data<float>();
  normalization.deviation = Output(2)->mutable_data<float>();
  LaunchNormalizeRows({.rows = x.size_to_dim(axis), .size = x.size_from_dim(axis)}, normalization,
                      context_.stream());
  return true;
}

template <>
template <typename T>
bool LayerNormGradientOp<CUDAContext>::DoRunWithType() {
  const Tensor &dy = Input(0), &y = Input(1), &stdev = Input(3), &x = Input(4);
  const int axis = x.canonical_axis_index(axis_);
  const NormalizedRows rows{.rows = x.size_to_dim(axis), .size = x.size_from_dim(axis)};
  CAFFE_ENFORCE(dy.numel() == x.numel() && y.numel() == x.numel() && stdev.numel() == rows.rows,
                "dY ", ShapeString(dy.sizes()), ", Y ", ShapeString(y.sizes()), " and stdev ",
                ShapeString(stdev.sizes()), " for X ", ShapeString(x.sizes()));
  RowNormalizationGradient<T> gradient;
  gradient.z = y.data<T>();
  gradient.dy = dy.data<T>();
  gradient.deviation = stdev.data<float>();
  Output(0)->ResizeLike(x);
  gradient.dx = Output(0)->mutable_data<T>();
  LaunchNormalizeRowsGradient(rows, gradient, context_.stream());
  return true;
}

template <>
template <typename T>
bool LrnOp<CUDAContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const Layout l = GetLayout(x);
  Output(0)->ResizeLike(x);
  T* scale = nullptr;
  if (OutputSize() > 1) {
    Output(1)->ResizeLike(x);
    scale = Output(1)->mutable_data<T>();
  }
  LaunchLrn({l.outer, l.channels, l.inner}, {size_, alpha_, beta_, bias_}, x.data<T>(),
            Output(0)->mutable_data<T>(), scale, context_.stream());
  return true;
}

template <>
template <typename T>
bool LrnGradientOp<CUDAContext>::DoRunWithType() {
  const Tensor &x = Input(0), &y = Input(1), &dy = Input(2);
  const Layout l = GetLayout(x);
  CAFFE_ENFORCE(y.numel() == x.numel() && dy.numel() == x.numel(), "Y ", ShapeString(y.sizes()),
                " and dY ", ShapeString(dy.sizes()), " for X ", ShapeString(x.sizes()));
  Tensor scratch(context_.device());
  scratch.ResizeLike(x);
  Output(0)->ResizeLike(x);
  LaunchLrnGradient({l.outer, l.channels, l.inner}, {size_, alpha_, beta_, bias_}, x.data<T>(),
                    y.data<T>(), dy.data<T>(), scratch.mutable_data<float>(),
                    Output(0)->mutable_data<T>(), context_.stream());
  return true;
}

template <>
template <typename T>
bool PReluOp<CUDAContext>::DoRunWithType() {
  const Tensor &x = Input(0), &slope = Input(1);
  const Sizes s = GetSizes(x, slope);
  Tensor* y = Output(0);
  if (y != &x) y->ResizeLike(x);
  LaunchPRelu({s.outer, s.channels, s.inner}, x.data<T>(), slope.data<float>(),
              y->mutable_data<T>(), context_.stream());
  return true;
}

template <>
template <typename T>
bool PReluGradientOp<CUDAContext>::DoRunWithType() {
  const Tensor &x = Input(1), &slope = Input(2), &dy = Input(3);
  const Sizes s = GetSizes(x, slope);
  CAFFE_ENFORCE_EQ(dy.numel(), x.numel(), "gradient ", ShapeString(dy.sizes()), " for X ",
                   ShapeString(x.sizes()));
  const AcrossChannels layout{s.outer, s.channels, s.inner};
  Tensor scratch(context_.device());
  scratch.Resize(PReluScratch(layout));
  Output(0)->ResizeLike(x);
  Output(1)->ResizeLike(slope);
  LaunchPReluGradient(layout, x.data<T>(), slope.data<float>(), dy.data<T>(),
                      scratch.mutable_data<double>(), Output(0)->mutable_data<T>(),
                      Output(1)->mutable_data<float>(), context_.stream());
  return true;
}

REGISTER_CUDA_OPERATOR(InstanceNorm, InstanceNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(InstanceNormGradient, InstanceNormGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LayerNorm, LayerNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LayerNormGradient, LayerNormGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LRN, LrnOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LRNGradient, LrnGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PRelu, PReluOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PReluGradient, PReluGradientOp<CUDAContext>);

}  // namespace caffe2

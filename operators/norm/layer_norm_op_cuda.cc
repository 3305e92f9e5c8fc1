// LayerNorm and its gradient on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/norm/layer_norm_op.h"
#include "operators/norm/normalization_kernels.h"

namespace caffe2 {

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
                "dY and Y must have as many elements as X, and stdev one for each of its ",
                rows.rows, " rows: dY has shape ", ShapeString(dy.sizes()), ", Y ",
                ShapeString(y.sizes()), ", stdev ", ShapeString(stdev.sizes()), ", X ",
                ShapeString(x.sizes()));
  RowNormalizationGradient<T> gradient;
  gradient.z = y.data<T>();
  gradient.dy = dy.data<T>();
  gradient.deviation = stdev.data<float>();
  Output(0)->ResizeLike(x);
  gradient.dx = Output(0)->mutable_data<T>();
  LaunchNormalizeRowsGradient(rows, gradient, context_.stream());
  return true;
}

REGISTER_CUDA_OPERATOR(LayerNorm, LayerNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LayerNormGradient, LayerNormGradientOp<CUDAContext>);

}  // namespace caffe2

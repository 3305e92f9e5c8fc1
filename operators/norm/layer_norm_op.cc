#include "operators/norm/layer_norm_op.h"

#include <algorithm>
#include <cmath>

#include "caffe2/utils/parallel.h"
#include "operators/common/row_shape.h"
#include "operators/norm/row_moments.h"

namespace caffe2 {
namespace {

constexpr int64_t kGrain = 1 << 13;  // elements per thread

int64_t RowGrain(int64_t d) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, d)); }

}  // namespace

template <>
template <typename T>
bool LayerNormOp<CPUContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const int axis = x.canonical_axis_index(axis_);
  const int64_t rows = x.size_to_dim(axis), d = x.size_from_dim(axis);
  std::vector<int64_t> row_dims(x.sizes().begin(), x.sizes().begin() + axis);
  row_dims.push_back(1);
  const T* x_data = x.data<T>();
  Tensor *y = Output(0), *mean = Output(1), *stdev = Output(2);
  y->ResizeLike(x);
  mean->Resize(row_dims);
  stdev->Resize(row_dims);
  T* y_data = y->mutable_data<T>();
  float *mean_data = mean->mutable_data<float>(), *stdev_data = stdev->mutable_data<float>();
  ParallelFor(rows, RowGrain(d), [=, this](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const RowMoments moments = MomentsOf(d, 1, x_data + i * d);
      mean_data[i] = static_cast<float>(moments.mean);
      stdev_data[i] = static_cast<float>(std::sqrt(moments.variance + epsilon_));
      const float scale = 1 / stdev_data[i];
      for (int64_t j = i * d; j < (i + 1) * d; ++j) {
        Store((Widen(x_data[j]) - mean_data[i]) * scale, &y_data[j]);
      }
    }
  });
  return true;
}

// dX = (dY - mean(dY) - Y mean(dY Y)) / stdev, means over the row
template <>
template <typename T>
bool LayerNormGradientOp<CPUContext>::DoRunWithType() {
  const Tensor &dy = Input(0), &y = Input(1), &stdev = Input(3), &x = Input(4);
  const int axis = x.canonical_axis_index(axis_);
  const int64_t rows = x.size_to_dim(axis), d = x.size_from_dim(axis);
  CAFFE_ENFORCE(dy.numel() == x.numel() && y.numel() == x.numel() && stdev.numel() == rows,
                "dY and Y must have as many elements as X, and stdev one for each of its ", rows,
                " rows: dY has shape ", ShapeString(dy.sizes()), ", Y ", ShapeString(y.sizes()),
                ", stdev ", ShapeString(stdev.sizes()), ", X ", ShapeString(x.sizes()));
  const T *dy_data = dy.data<T>(), *y_data = y.data<T>();
  const float* stdev_data = stdev.data<float>();
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  T* dx_data = dx->mutable_data<T>();
  ParallelFor(rows, RowGrain(d), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const RowDots dots = DotsOf(d, 1, dy_data + i * d, y_data + i * d);
      const auto mean_dy = static_cast<float>(dots.sum / static_cast<double>(d));
      const auto mean_product = static_cast<float>(dots.dot / static_cast<double>(d));
      const float scale = 1 / stdev_data[i];
      for (int64_t j = i * d; j < (i + 1) * d; ++j) {
        Store((Widen(dy_data[j]) - mean_dy - Widen(y_data[j]) * mean_product) * scale, &dx_data[j]);
      }
    }
  });
  return true;
}

REGISTER_CPU_OPERATOR(LayerNorm, LayerNormOp<CPUContext>);
REGISTER_CPU_OPERATOR(LayerNormGradient, LayerNormGradientOp<CPUContext>);

OPERATOR_SCHEMA(LayerNorm)
    .NumInputs(1)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = DimsOfRows(def, in[0]);
      dims.push_back(1);
      const TensorShape rows = CreateTensorShape(dims, TensorProto::FLOAT);
      return std::vector<TensorShape>{in[0], rows, rows};
    })
    .SetDoc(
        "Layer normalization (Ba et al., 2016) without scale and shift: Y = (X - mean) / "
        "stdev over each row, with stdev = sqrt(variance + epsilon).")
    .Arg<int>("axis",
              "(default 1) Axes before this one count the rows; the other axes are their elements.")
    .Arg<float>("epsilon", "(>= 0, default 0.001) Added to the variance.")
    .Input(0, "X", "A float or bfloat16 tensor; on CUDA devices also float16.")
    .Output(0, "Y", "The result, shaped like X.")
    .Output(1, "mean", "Float, the mean of each row: the axes before `axis`, then 1.")
    .Output(2, "stdev", "Float, the standard deviation of each row, shaped like the mean.");
OPERATOR_SCHEMA(LayerNormGradient)
    .NumInputs(5)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(4)
    .SetDoc(
        "The gradient of LayerNorm: dX = (dY - mean(dY) - Y mean(dY Y)) / stdev, with means "
        "over each row.")
    .Arg<int>("axis", "As in LayerNorm.")
    .Input(0, "dY", "The gradient of Y.")
    .Input(1, "Y", "The first output of LayerNorm.")
    .Input(2, "mean", "The second output; not used.")
    .Input(3, "stdev", "The third output.")
    .Input(4, "X", "The input of LayerNorm. Only its shape is used.")
    .Output(0, "dX", "The gradient of X, of the same shape.");

class GetLayerNormGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("LayerNormGradient", "", std::vector{GO(0), O(0), O(1), O(2), I(0)},
                             std::vector{GI(0)});
  }
};
REGISTER_GRADIENT(LayerNorm, GetLayerNormGradient);

}  // namespace caffe2

// LayerNorm (Ba et al., 2016): normalizes each row to mean 0 and variance 1. X -> Y, mean,
// deviation; the latter two have one float for each row. Axes before the argument `axis` (default
// 1) index the rows. With elementwise_affine, gamma and beta then scale and offset each column.
#pragma once

#include <algorithm>

#include "operators/activation/activation_types.h"
#include "operators/common/channel_shape.h"

namespace caffe2 {

// `rows` rows of `size` elements.
struct LayerNormRows {
  int64_t rows = 0, size = 0;
  // The columns as channels.
  ChannelShape Columns() const { return {rows, size, 1, /*channels_last=*/true}; }
};

// Shared by the forward and the gradient operator. Overloads of these functions, chosen by the last
// argument, do the work on its device:
//   NormalizeRows          y = (x - mean) / stdev of each row, with stdev = sqrt(variance +
//   epsilon) NormalizeRowsGradient  dx, from the gradient of y, y and stdev ScaleChannels,
//   SumChannelProducts  as in channel_affine.h
template <class Context>
class LayerNormBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LayerNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        axis_(this->template GetSingleArgument<int>("axis", 1)),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-3f)),
        affine_(this->template GetSingleArgument<bool>("elementwise_affine", false)) {
    CAFFE_ENFORCE(epsilon_ >= 0, "argument epsilon must not be negative, found ", epsilon_);
  }

 protected:
  LayerNormRows RowsOf(const Tensor& x) const {
    const int axis = x.canonical_axis_index(axis_);
    return {x.size_to_dim(axis), x.size_from_dim(axis)};
  }
  // The argument and the inputs must agree.
  void CheckInputs(int without_affine, int with_affine) const {
    CAFFE_ENFORCE(InputSize() == (affine_ ? with_affine : without_affine),
                  "with elementwise_affine there are ", with_affine, " inputs, without it ",
                  without_affine, ", not ", InputSize());
  }
  void CheckColumns(const Tensor& values, const char* name, const LayerNormRows& rows) const {
    CAFFE_ENFORCE(values.numel() == rows.size, name, " must have one element for each of the ",
                  rows.size, " elements of a row, found shape ", ShapeString(values.sizes()));
  }

  int axis_;
  float epsilon_;
  bool affine_;
};

template <class Context>
class LayerNormOp final : public LayerNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LayerNormOp(const OperatorDef& def, Workspace* ws) : LayerNormBase<Context>(def, ws) {
    this->CheckInputs(1, 3);
  }
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const LayerNormRows rows = this->RowsOf(x);
    const int axis = x.canonical_axis_index(this->axis_);
    std::vector<int64_t> row_dims(x.sizes().begin(), x.sizes().begin() + axis);
    row_dims.push_back(1);
    const T* x_data = x.data<T>();
    Tensor *y = Output(0), *mean = Output(1), *stdev = Output(2);
    y->ResizeLike(x);
    mean->Resize(row_dims);
    stdev->Resize(row_dims);
    T* y_data = y->template mutable_data<T>();
    NormalizeRows(rows, this->epsilon_, x_data, y_data, mean->template mutable_data<float>(),
                  stdev->template mutable_data<float>(), &context_);
    if (!this->affine_) return true;
    const Tensor &gamma = Input(1), &beta = Input(2);
    this->CheckColumns(gamma, "gamma", rows);
    this->CheckColumns(beta, "beta", rows);
    if (y->numel() == 0) return true;
    ScaleChannels<T>(rows.Columns(), y_data, gamma.data<float>(), beta.data<float>(), y_data,
                     &context_);
    return true;
  }
};

// Inputs dY, Y, mean, stdev, X and, with elementwise_affine, gamma; outputs dX and then also dgamma
// and dbeta. Y with gamma and beta is not the normalized row, which is computed from X again.
template <class Context>
class LayerNormGradientOp final : public LayerNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LayerNormGradientOp(const OperatorDef& def, Workspace* ws) : LayerNormBase<Context>(def, ws) {
    this->CheckInputs(5, 6);
    CAFFE_ENFORCE(OutputSize() == (this->affine_ ? 3 : 1), "with elementwise_affine there are 3 ",
                  "outputs, without it 1, not ", OutputSize());
  }
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &dy = Input(0), &y = Input(1), &stdev = Input(3), &x = Input(4);
    const LayerNormRows rows = this->RowsOf(x);
    CAFFE_ENFORCE(dy.numel() == x.numel() && y.numel() == x.numel() && stdev.numel() == rows.rows,
                  "dY and Y must have as many elements as X, and stdev one for each of its ",
                  rows.rows, " rows: dY has shape ", ShapeString(dy.sizes()), ", Y ",
                  ShapeString(y.sizes()), ", stdev ", ShapeString(stdev.sizes()), ", X ",
                  ShapeString(x.sizes()));
    const T *dy_data = dy.data<T>(), *normalized = y.data<T>();
    Output(0)->ResizeLike(x);
    T* dx = Output(0)->template mutable_data<T>();
    if (this->affine_) {
      normalized = NormalizeAgain<T>(rows);
      SumColumns<T>(rows, dy_data, normalized);
      dy_data = GradientOfNormalized<T>(rows, dy_data);
    }
    NormalizeRowsGradient(rows, dy_data, normalized, stdev.data<float>(), dx, &context_);
    return true;
  }

 private:
  template <typename T>
  const T* NormalizeAgain(const LayerNormRows& rows) {
    const Tensor& x = Input(4);
    normalized_.ResizeLike(x);
    statistics_.Resize(2, rows.rows);
    float* statistics = statistics_.mutable_data<float>();
    T* normalized = normalized_.mutable_data<T>();
    NormalizeRows(rows, this->epsilon_, x.data<T>(), normalized, statistics, statistics + rows.rows,
                  &context_);
    return normalized;
  }
  template <typename T>
  void SumColumns(const LayerNormRows& rows, const T* dy, const T* normalized) {
    const Tensor& gamma = Input(5);
    this->CheckColumns(gamma, "gamma", rows);
    for (int i : {1, 2}) Output(i)->ResizeLike(gamma);
    SumChannelProducts<T>(rows.Columns(), normalized, dy, Output(1)->template mutable_data<float>(),
                          Output(2)->template mutable_data<float>(), &context_);
  }
  template <typename T>
  const T* GradientOfNormalized(const LayerNormRows& rows, const T* dy) {
    const Tensor &x = Input(4), &gamma = Input(5);
    scaled_.ResizeLike(x);
    T* scaled = scaled_.mutable_data<T>();
    if (scaled_.numel() == 0) return scaled;
    ScaleChannels<T>(rows.Columns(), dy, gamma.data<float>(), nullptr, scaled, &context_);
    return scaled;
  }

  Tensor normalized_{Context::kDeviceType}, statistics_{Context::kDeviceType},
      scaled_{Context::kDeviceType};
};

}  // namespace caffe2

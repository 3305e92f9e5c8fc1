// Softmax and its gradient. A tensor is seen as a matrix: the axes before the argument `axis`
// (default 1) index the rows, the other axes the elements of a row.
#pragma once

#include "operators/activation/activation_types.h"

namespace caffe2 {

template <class Context>
class SoftmaxOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SoftmaxOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", 1)) {}
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const int axis = x.canonical_axis_index(axis_);
    const T* x_data = x.data<T>();
    Tensor* y = Output(0);
    if (y != &x) y->ResizeLike(x);
    Rows(x.size_to_dim(axis), x.size_from_dim(axis), x_data, y->template mutable_data<T>());
    return true;
  }

 private:
  // For rows of length d; x and y may be the same memory.
  template <typename T>
  void Rows(int64_t rows, int64_t d, const T* x, T* y);

  int axis_;
};

template <class Context>
class SoftmaxGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SoftmaxGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", 1)) {}
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &y = Input(0), &dy = Input(1);
    CAFFE_ENFORCE(y.numel() == dy.numel(),
                  "Y and dY must have the same number of elements: Y has shape ",
                  ShapeString(y.sizes()), ", dY ", ShapeString(dy.sizes()));
    const int axis = y.canonical_axis_index(axis_);
    const T *y_data = y.data<T>(), *dy_data = dy.data<T>();
    Tensor* dx = Output(0);
    if (dx != &dy) dx->ResizeLike(y);
    Rows(y.size_to_dim(axis), y.size_from_dim(axis), y_data, dy_data,
         dx->template mutable_data<T>());
    return true;
  }

 private:
  // For rows of length d; dy and dx may be the same memory.
  template <typename T>
  void Rows(int64_t rows, int64_t d, const T* y, const T* dy, T* dx);

  int axis_;
};

// y[i, :] = softmax(x[i, :]) for rows of length d; x and y may be the same memory. If `log_sums`
// is not null, log_sums[i] = log(sum_j exp(x[i, j])), so that log y[i, j] = x[i, j] - log_sums[i].
// T is float or bfloat16; arithmetic is in float.
template <typename T>
void SoftmaxRows(int64_t rows, int64_t d, const T* x, T* y, float* log_sums);

}  // namespace caffe2

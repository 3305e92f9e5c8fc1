// ElementwiseLinear: Y = X * w + b with a factor and an offset for each column.
#pragma once

#include "operators/common/element_type.h"

namespace caffe2 {

// For n rows of d elements, on the device of the context: ScaleColumns computes y = x * w[column] +
// b[column], where b may be null; SumColumnProducts the sums of g * x and of g over each column.
template <class Context>
void ScaleColumns(int64_t n, int64_t d, const float* x, const float* w, const float* b, float* y,
                  Context* context);
template <class Context>
void SumColumnProducts(int64_t n, int64_t d, const float* x, const float* g, float* sum_gx,
                       float* sum_g, Context* context);

// X as an N x D matrix, split at the argument `axis`.
struct MatrixSize {
  int64_t n = 0, d = 0;
};

// Shared by the operator and its gradient: the argument axis and the check of the shapes.
template <class Context>
class ElementwiseLinearBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ElementwiseLinearBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", 1)) {}

 protected:
  MatrixSize CheckSizes(const Tensor& X, const Tensor& w) const {
    const int axis = X.canonical_axis_index(axis_);
    const MatrixSize size{.n = X.size_to_dim(axis), .d = X.size_from_dim(axis)};
    CAFFE_ENFORCE(w.dim() == 1 && w.size(0) == size.d, "w ", ShapeString(w.sizes()), " for X ",
                  ShapeString(X.sizes()), " must have ", size.d, " elements");
    return size;
  }

 private:
  int axis_;
};

template <class Context>
class ElementwiseLinearOp final : public ElementwiseLinearBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ElementwiseLinearBase<Context>::ElementwiseLinearBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &W = Input(1), &B = Input(2);
    const MatrixSize size = this->CheckSizes(X, W);
    CAFFE_ENFORCE(B.sizes() == W.sizes(), "w ", ShapeString(W.sizes()), " and b ",
                  ShapeString(B.sizes()), " must have one shape");
    const float *x = X.data<float>(), *w = W.data<float>(), *b = B.data<float>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    ScaleColumns(size.n, size.d, x, w, b, Y->template mutable_data<float>(), &context_);
    return true;
  }
};

// dX = dY * w, dw = sum over rows of dY * X, db = sum over rows of dY.
template <class Context>
class ElementwiseLinearGradientOp final : public ElementwiseLinearBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ElementwiseLinearBase<Context>::ElementwiseLinearBase;
  bool RunOnDevice() override {
    const Tensor &dY = Input(0), &X = Input(1), &W = Input(2);
    const MatrixSize size = this->CheckSizes(X, W);
    CAFFE_ENFORCE(dY.sizes() == X.sizes(), "dY must have the shape of X: dY has shape ",
                  ShapeString(dY.sizes()), ", X ", ShapeString(X.sizes()));
    const float *dy = dY.data<float>(), *x = X.data<float>(), *w = W.data<float>();
    Output(0)->ResizeLike(X);
    Output(1)->ResizeLike(W);
    Output(2)->ResizeLike(W);
    ScaleColumns<Context>(size.n, size.d, dy, w, nullptr, Output(0)->template mutable_data<float>(),
                          &context_);
    SumColumnProducts(size.n, size.d, x, dy, Output(1)->template mutable_data<float>(),
                      Output(2)->template mutable_data<float>(), &context_);
    return true;
  }
};

}  // namespace caffe2

// RowwiseMax, ColwiseMax: the maximum of each row or column of each matrix of a batch [batch, rows,
// columns].
#pragma once

#include "operators/common/broadcast.h"
#include "operators/common/element_type.h"

namespace caffe2 {

// Overloads of MaximaOf and MaximaGradient, chosen by their last argument, do the work on the
// device: y[j] = the maximum of the elements of x that the plan maps to j < results, and dx = dy
// where x equals the maximum, else 0.

// X as [batch, rows, columns], reduced over rows (colwise) or columns (rowwise).
template <bool colwise>
struct MatrixShape {
  std::vector<int64_t> kept, output;
  explicit MatrixShape(const std::vector<int64_t>& x) {
    CAFFE_ENFORCE(x.size() == 3, "the input must be a batch of matrices, found shape ",
                  ShapeString(x));
    CAFFE_ENFORCE((x[colwise ? 1 : 2]) > 0,
                  "the maximum of no elements is not defined: the input has shape ",
                  ShapeString(x));
    kept = colwise ? std::vector<int64_t>{x[0], 1, x[2]} : std::vector<int64_t>{x[0], x[1], 1};
    output = {x[0], colwise ? x[2] : x[1]};
  }
};

template <class Context, bool colwise>
class MatrixMaxOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MatrixMaxOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const MatrixShape<colwise> shape(X.sizes());
    const float* x = X.data<float>();
    Tensor* Y = Output(0);
    Y->Resize(shape.output);
    MaximaOf(MakeBroadcastPlan(X.sizes(), shape.kept), x, Y->numel(),
             Y->template mutable_data<float>(), &context_);
    return true;
  }
};

// Inputs X, Y, dY.
template <class Context, bool colwise>
class MatrixMaxGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MatrixMaxGradientOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1), &dY = Input(2);
    const MatrixShape<colwise> shape(X.sizes());
    CAFFE_ENFORCE(Y.sizes() == shape.output && dY.sizes() == shape.output,
                  "Y and dY must have shape ", ShapeString(shape.output), " for X of shape ",
                  ShapeString(X.sizes()), ": Y has shape ", ShapeString(Y.sizes()), ", dY ",
                  ShapeString(dY.sizes()));
    const float *x = X.data<float>(), *y = Y.data<float>(), *dy = dY.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    MaximaGradient(MakeBroadcastPlan(X.sizes(), shape.kept), Y.numel(), dy, x, y,
                   dX->template mutable_data<float>(), &context_);
    return true;
  }
};

}  // namespace caffe2

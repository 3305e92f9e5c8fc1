// Operators that reduce each pair of rows to a number: SquaredL2Distance, L1Distance, DotProduct,
// CosineSimilarity.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/loss/distance_functions.h"

namespace caffe2 {

// Rows are along axis 0; each has `width` elements.
struct RowSize {
  int64_t rows = 0, width = 0;

  // Throws EnforceNotMet, naming the shapes, unless they are equal.
  static RowSize OfPair(const Tensor& X, const Tensor& Y) {
    CAFFE_ENFORCE(X.sizes() == Y.sizes(), "X and Y must have the same shape: X has shape ",
                  ShapeString(X.sizes()), ", Y ", ShapeString(Y.sizes()));
    const int64_t rows = X.dim() == 0 ? 1 : X.size(0);
    return {rows, rows == 0 ? 0 : X.numel() / rows};
  }
};

// X, Y -> the measure of each pair of rows.
template <class Context, class Measure>
class DistanceOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(DistanceOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &Y = Input(1);
    const RowSize size = RowSize::OfPair(X, Y);
    const T *x = X.data<T>(), *y = Y.data<T>();
    Tensor* D = Output(0);
    D->Resize(size.rows);
    ForEachRow(size.rows, size.width,
               MeasureRows<Measure, T>{size.width, x, y, D->template mutable_data<T>()}, &context_);
    return true;
  }
};

// X, Y, the gradient of the measures -> dX, dY.
template <class Context, class Measure>
class DistanceGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(DistanceGradientOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &Y = Input(1), &dD = Input(2);
    const RowSize size = RowSize::OfPair(X, Y);
    CAFFE_ENFORCE(dD.numel() == size.rows, "the gradient must have one value for each of the ",
                  size.rows, " rows of X, found shape ", ShapeString(dD.sizes()));
    const T *x = X.data<T>(), *y = Y.data<T>(), *d = dD.data<T>();
    Output(0)->ResizeLike(X);
    Output(1)->ResizeLike(Y);
    T* dx = Output(0)->template mutable_data<T>();
    T* dy = Output(1)->template mutable_data<T>();
    ForEachRow(size.rows, size.width, MeasureGradientRows<Measure, T>{size.width, x, y, d, dx, dy},
               &context_);
    return true;
  }
};

}  // namespace caffe2

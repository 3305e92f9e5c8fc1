// Swish and Mish: Y = X g(X), with a gate g between 0 and 1 (gated_functions.h).
#pragma once

#include "operators/activation/gated_functions.h"
#include "operators/common/element_type.h"
#include "operators/common/portable_op.h"

namespace caffe2 {

template <class Context, class Gate>
class GatedOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(GatedOp);
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    MapElements(GatedValue<Gate>(), X.numel(), &context_, Y->template mutable_data<T>(), x);
    return true;
  }
};

// X, Y, dY -> dX
template <class Context, class Gate>
class GatedGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(GatedGradientOp);
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &Y = Input(1), &dY = Input(2);
    CAFFE_ENFORCE(X.numel() == Y.numel() && X.numel() == dY.numel(), "X ", ShapeString(X.sizes()),
                  ", Y ", ShapeString(Y.sizes()), " and dY ", ShapeString(dY.sizes()),
                  " differ in size");
    const T *x = X.data<T>(), *y = Y.data<T>(), *dy = dY.data<T>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    MapElements(GatedSlope<Gate>(), X.numel(), &context_, dX->template mutable_data<T>(), x, y, dy);
    return true;
  }
};

}  // namespace caffe2

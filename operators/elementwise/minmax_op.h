// The gradients of Max, Min and Mean, for the host and for devices.
#pragma once

#include "operators/common/combination_functions.h"
#include "operators/common/element_type.h"
#include "operators/common/host_device_op.h"
#include "operators/elementwise/scale_op.h"

namespace caffe2 {

// Inputs Y, dY, X_0, X_1, ...: dX_k = dY where X_k is the chosen value, 0 elsewhere.
template <class Context>
class SelectGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SelectGradientOp);
  bool RunOnDevice() override { return NumericTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &Y = Input(0), &dY = Input(1);
    const T *y = Y.template data<T>(), *dy = dY.template data<T>();
    CAFFE_ENFORCE(Y.sizes() == dY.sizes(), "Y and dY must have the same shape: Y has shape ",
                  ShapeString(Y.sizes()), ", dY ", ShapeString(dY.sizes()));
    for (int k = 0; k < OutputSize(); ++k) {
      const Tensor& X = Input(k + 2);
      CAFFE_ENFORCE(X.sizes() == Y.sizes(), "input ", k + 2, " must have the shape of Y: input ",
                    k + 2, " has shape ", ShapeString(X.sizes()), ", Y ", ShapeString(Y.sizes()));
      const T* x = X.template data<T>();
      Output(k)->ResizeLike(X);
      ForEach(X.numel(), SelectGradient<T>{y, dy, x, Output(k)->template mutable_data<T>()},
              &context_);
    }
    return true;
  }
};

// dX_k = dY / n for each of the n outputs.
template <class Context>
class MeanGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MeanGradientOp);
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& dY = Input(0);
    const T* dy = dY.template data<T>();
    const ScaleFunction scale(1.f / static_cast<float>(OutputSize()));
    // Output 0 may overwrite dY, so it is written last.
    for (int k = OutputSize() - 1; k >= 0; --k) {
      Output(k)->ResizeLike(dY);
      MapElements(scale, dY.numel(), &context_, Output(k)->template mutable_data<T>(), dy);
    }
    return true;
  }
};

}  // namespace caffe2

// WeightedSum: X_0, w_0, X_1, w_1, ... -> the sum of w_k * X_k. The X are of one size and of float,
// float16 or bfloat16; each w is one float.
#pragma once

#include "operators/common/element_type.h"
#include "operators/common/total_product.h"

namespace caffe2 {

template <class Context>
class WeightedSumOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(WeightedSumOp);

  bool RunOnDevice() override {
    return TensorTypes<float, float16, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& first = Input(0);
    for (int k = 0; k < InputSize(); k += 2) {
      const Tensor& X = Input(k);
      CAFFE_ENFORCE(X.numel() == first.numel(),
                    "all terms must have the same number of elements: input 0 has shape ",
                    ShapeString(first.sizes()), ", input ", k, " ", ShapeString(X.sizes()));
      X.template data<T>();  // of the right type, and with data
    }
    Tensor* Y = Output(0);
    Y->ResizeLike(first);
    Add(Y->numel(), Y->template mutable_data<T>());
    return true;
  }

 private:
  // y = the sum of the n elements of every other input times the number after it, in float. y may
  // be input 0.
  template <typename T>
  void Add(int64_t n, T* y);
};

// dY, X_0, w_0, ... -> dX_k = w_k * dY; with grad_on_w also dw_k = sum(dY * X_k), by the device's
// TotalProduct.
template <class Context>
class WeightedSumGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  WeightedSumGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        grad_on_w_(this->template GetSingleArgument<bool>("grad_on_w", false)) {
    CAFFE_ENFORCE(OutputSize() == ((grad_on_w_ ? 2 : 1) * (InputSize() / 2)), "there must be ",
                  (grad_on_w_ ? 2 : 1) * (InputSize() / 2), " outputs for ", InputSize(),
                  " inputs, found ", OutputSize());
  }

  bool RunOnDevice() override {
    const Tensor& dY = Input(0);
    const float* dy = dY.data<float>();
    const int pairs = InputSize() / 2;
    for (int k = 0; k < pairs; ++k) {
      const Rate weight = RateFor(this->template Input<Tensor>(2 * k + 2), "a weight", &context_);
      Output(k)->ResizeLike(dY);
      MapElements(TimesRate{weight}, dY.numel(), &context_,
                  Output(k)->template mutable_data<float>(), dy);
      if (!grad_on_w_) continue;
      const Tensor& X = Input(2 * k + 1);
      CAFFE_ENFORCE(X.numel() == dY.numel(),
                    "a term must have as many elements as the gradient: it has shape ",
                    ShapeString(X.sizes()), ", the gradient ", ShapeString(dY.sizes()));
      Tensor* dw = Output(pairs + k);
      dw->Resize(1);
      TotalProduct(X.numel(), X.data<float>(), dy, dw->template mutable_data<float>(), &context_);
    }
    return true;
  }

 private:
  bool grad_on_w_;
};

}  // namespace caffe2

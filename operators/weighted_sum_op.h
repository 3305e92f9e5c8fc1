// WeightedSum: the sum of tensors of one size, each times a number.
#pragma once

#include "operators/element_type.h"

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
      CAFFE_ENFORCE_EQ(X.numel(), first.numel(), "inputs of different sizes: input 0 is ",
                       ShapeString(first.sizes()), ", input ", k, " is ", ShapeString(X.sizes()));
      X.template data<T>();  // of the right type, and with data
    }
    Tensor* Y = Output(0);
    Y->ResizeLike(first);
    Add(Y->numel(), Y->template mutable_data<T>());
    return true;
  }

 private:
  // y = the sum of the n elements of every other input times the number behind it, in float. y may
  // be input 0.
  template <typename T>
  void Add(int64_t n, T* y);
};

}  // namespace caffe2

// Dropout: zeroes a random share of the elements in training.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// What the forward and the gradient operator have in common: their arguments.
template <class Context>
class DropoutBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  DropoutBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        ratio_(this->template GetSingleArgument<float>("ratio", 0.5f)),
        is_test_(this->template GetSingleArgument<int>("is_test", 0) != 0) {
    CAFFE_ENFORCE(ratio_ >= 0 && ratio_ < 1, "argument ratio must lie in [0, 1): ", ratio_);
  }

 protected:
  float ratio_;
  bool is_test_;
};

template <class Context>
class DropoutOp final : public DropoutBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using DropoutBase<Context>::DropoutBase;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType();
};

template <class Context>
class DropoutGradientOp final : public DropoutBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using DropoutBase<Context>::DropoutBase;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType();
};

}  // namespace caffe2

// TopK: the k largest elements along an axis.
#pragma once

#include "operators/element_type.h"

namespace caffe2 {

// What the forward and the gradient operator have in common: their arguments.
template <class Context>
class TopKBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  TopKBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        k_(this->template GetSingleArgument<int>("k", -1)),
        axis_(this->template GetSingleArgument<int>("axis", -1)) {
    CAFFE_ENFORCE_GE(k_, 1, "argument k");
  }

 protected:
  int k_, axis_;
};

template <class Context>
class TopKOp final : public TopKBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using TopKBase<Context>::TopKBase;
  bool RunOnDevice() override { return NumericTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();
};

template <class Context>
class TopKGradientOp final : public TopKBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using TopKBase<Context>::TopKBase;
  bool RunOnDevice() override { return NumericTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();
};

}  // namespace caffe2

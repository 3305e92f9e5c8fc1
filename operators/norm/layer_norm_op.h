// LayerNorm (Ba et al., 2016) without scale and offset: normalizes each row to mean 0 and variance
// 1. X -> Y, mean, deviation; the latter two have one float for each row. Axes before the argument
// `axis` (default 1) index the rows.
#pragma once

#include "operators/activation/activation_types.h"

namespace caffe2 {

template <class Context>
class LayerNormOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LayerNormOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        axis_(this->template GetSingleArgument<int>("axis", 1)),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-3f)) {
    CAFFE_ENFORCE(epsilon_ >= 0, "argument epsilon must not be negative, found ", epsilon_);
  }
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();

 private:
  int axis_;
  float epsilon_;
};

template <class Context>
class LayerNormGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LayerNormGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("axis", 1)) {}
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();

 private:
  int axis_;
};

}  // namespace caffe2

// LRN: local response normalization across channels (Krizhevsky et al., NIPS 2012). X -> Y,
// [scale]: Y = X * scale^-beta, where scale = bias + alpha / size * (sum of X^2 over the window of
// `size` channels).
#pragma once

#include <string>

#include "operators/activation/activation_types.h"

namespace caffe2 {

// Shared by the forward and the gradient operator: their arguments and the layout.
template <class Context>
class LrnBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LrnBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        size_(this->template GetSingleArgument<int>("size", 0)),
        alpha_(this->template GetSingleArgument<float>("alpha", 0.f)),
        beta_(this->template GetSingleArgument<float>("beta", 0.f)),
        bias_(this->template GetSingleArgument<float>("bias", 1.f)),
        order_(this->template GetSingleArgument<std::string>("order", "NCHW")) {
    CAFFE_ENFORCE(size_ > 0 && size_ % 2 == 1, "argument size must be odd and positive, found ",
                  size_);
    CAFFE_ENFORCE(alpha_ > 0, "argument alpha must be positive, found ", alpha_);
    CAFFE_ENFORCE(beta_ > 0, "argument beta must be positive, found ", beta_);
    CAFFE_ENFORCE(order_ == "NCHW" || order_ == "NHWC",
                  "argument order must be NCHW or NHWC, found ", order_);
  }

 protected:
  // X as [outer, channels, inner].
  struct Layout {
    int64_t outer = 0;
    int64_t channels = 0;
    int64_t inner = 0;
  };
  Layout GetLayout(const Tensor& x) const {
    CAFFE_ENFORCE(x.dim() == 4, "X must have four axes, found shape ", ShapeString(x.sizes()));
    if (order_ == "NCHW") return {x.size(0), x.size(1), x.size(2) * x.size(3)};
    return {x.size(0) * x.size(1) * x.size(2), x.size(3), 1};
  }

  int size_;
  float alpha_, beta_, bias_;

 private:
  std::string order_;
};

template <class Context>
class LrnOp final : public LrnBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LrnBase<Context>::LrnBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();

 private:
  Tensor own_scale_{Context::kDeviceType};  // used if the scale is not an output
};

template <class Context>
class LrnGradientOp final : public LrnBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LrnBase<Context>::LrnBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();
};

}  // namespace caffe2

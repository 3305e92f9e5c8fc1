// LpNorm: the sum of the absolute values (p = 1) or of the squares (p = 2) of a tensor; no root is
// taken. X -> one float.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/norm/lp_norm_functions.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

// *sum = factor * the sum of |x|^p over n elements, p being 1 or 2, on the device of the context.
template <class Context>
void SumOfPowers(int p, int64_t n, double factor, const float* x, float* sum, Context* context);

// The arguments of both operators.
template <class Context>
class LpNormBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LpNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        p_(this->template GetSingleArgument<int>("p", 2)),
        average_(this->template GetSingleArgument<bool>("average", false)) {
    CAFFE_ENFORCE(p_ == 1 || p_ == 2, "argument p must be 1 or 2, found ", p_);
  }

 protected:
  double Factor(const Tensor& X) const {
    return average_ ? 1 / std::max<double>(1, static_cast<double>(X.numel())) : 1;
  }
  int p_;
  bool average_;
};

template <class Context>
class LpNormOp final : public LpNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LpNormBase<Context>::LpNormBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const float* x = X.data<float>();
    Output(0)->Resize(1);
    SumOfPowers(this->p_, X.numel(), this->Factor(X), x, Output(0)->template mutable_data<float>(),
                &context_);
    return true;
  }
};

// X, dZ -> dX = sign(X) dZ for p = 1, 2 X dZ for p = 2
template <class Context>
class LpNormGradientOp final : public LpNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LpNormBase<Context>::LpNormBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const Rate gradient = RateFor(this->template Input<Tensor>(1), "the gradient", &context_);
    const float* x = X.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    MapElements(LpNormDerivative{this->p_, static_cast<float>(this->Factor(X)), gradient},
                X.numel(), &context_, dX->template mutable_data<float>(), x);
    return true;
  }
};

}  // namespace caffe2

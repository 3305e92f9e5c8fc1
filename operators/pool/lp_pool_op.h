// LpPool and its gradient: the p-norm of every window, computed from averages of |x|^p.
// host_device_op.h or host_device_cuda.h runs the functors. Pool and PoolGradient are functions of
// the device (pool_op.h).
#pragma once

#include <cmath>

#include "operators/pool/lp_pool_functions.h"
#include "operators/pool/pool_op.h"

namespace caffe2 {

// Shared by both operators.
template <class Context>
class LpPoolBase : public PoolOpBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LpPoolBase(const OperatorDef& def, Workspace* ws)
      : PoolOpBase<Context>(def, ws), p_(this->template GetSingleArgument<float>("p", 2.f)) {
    CAFFE_ENFORCE(p_ > 0 && std::isfinite(p_), "argument p (", p_, ") must be positive and finite");
  }

 protected:
  // Sets the window for the shape of x. Returns the number of elements of a window, pads included:
  // the factor from its average to its sum.
  float PrepareWindows(const Tensor& x) {
    this->Prepare(x);
    this->shape_.count_include_pad = true;
    const auto& kernel = this->shape_.kernel;
    return static_cast<float>(kernel[0] * kernel[1] * kernel[2]);
  }

  const float p_;
};

template <class Context>
class LpPoolOp final : public LpPoolBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LpPoolBase<Context>::LpPoolBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const float size = this->PrepareWindows(X);
    const float* x = X.data<float>();
    Tensor buffer(context_.device());
    buffer.ResizeLike(X);
    auto* powers = buffer.template mutable_data<float>();
    ForEach(X.numel(), PowerOfElements{this->p_, x, powers}, &context_);
    Output(0)->Resize(this->y_dims_);
    float* y = Output(0)->template mutable_data<float>();
    Pool(PoolKind::kAverage, this->shape_, static_cast<const float*>(powers), y, &context_);
    ForEach(Output(0)->numel(), RootOfElements{this->p_, size, y}, &context_);
    return true;
  }
};

// dX = x |x|^(p-2) * (the sum over its windows of dY y^(1-p)); 0 where the norm or x is 0.
template <class Context>
class LpPoolGradientOp final : public LpPoolBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LpPoolBase<Context>::LpPoolBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1), &dY = Input(2);
    const float size = this->PrepareWindows(X);
    CAFFE_ENFORCE(Y.sizes() == this->y_dims_ && dY.sizes() == this->y_dims_,
                  "Y and dY must have shape ", ShapeString(this->y_dims_), ", found ",
                  ShapeString(Y.sizes()), " and ", ShapeString(dY.sizes()));
    const float *x = X.data<float>(), *y = Y.data<float>(), *dy = dY.data<float>();
    Tensor buffer(context_.device());
    buffer.ResizeLike(Y);
    auto* gradient = buffer.template mutable_data<float>();
    ForEach(Y.numel(), GradientOfNorms{this->p_, size, y, dy, gradient}, &context_);
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->template mutable_data<float>();
    PoolGradient(PoolKind::kAverage, this->shape_, x, y, static_cast<const float*>(gradient), dx,
                 &context_);
    ForEach(X.numel(), GradientOfPowers{this->p_, x, dx}, &context_);
    return true;
  }
};

}  // namespace caffe2

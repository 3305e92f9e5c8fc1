// ClipTensorByScaling: scales a tensor down when its norm is over a threshold.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

// Y = X, float or 16 bits, or, if the norm in input 1 is over threshold * input 2, X scaled down to
// that limit. Inputs 1 and 2 (optional: 1) are one float each. Works in place. Throws EnforceNotMet
// for a threshold that is not positive, and for other types and sizes.
template <class Context>
class ClipTensorByScalingOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ClipTensorByScalingOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        threshold_(this->template GetSingleArgument<float>("threshold", 0.f)) {
    CAFFE_ENFORCE(threshold_ > 0, "argument threshold must be positive, found ", threshold_);
  }
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const T* x_data = x.data<T>();
    const Rate norm = RateFor(this->template Input<Tensor>(1), "the norm", &context_);
    Rate factor{nullptr, 1.f};
    if (InputSize() > 2) {
      factor = RateFor(this->template Input<Tensor>(2), "the additional threshold", &context_);
    }
    Tensor* y = Output(0);
    if (y != &x) y->ResizeLike(x);
    ForEach(x.numel(),
            ClipByScaling<T>{threshold_, norm, factor, x_data, y->template mutable_data<T>()},
            &context_);
    return true;
  }

 private:
  float threshold_;
};

}  // namespace caffe2

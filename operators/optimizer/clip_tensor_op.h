// ClipTensorByScaling: scales a tensor down if its norm exceeds a threshold.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

// Y = X or, if the norm in input 1 exceeds threshold * input 2, X scaled down to that limit. X is
// float or of 16 bits; inputs 1 and 2 (optional, default 1) are one float each. Y may overwrite X.
// Throws EnforceNotMet for a threshold that is not positive, and for other types and sizes.
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

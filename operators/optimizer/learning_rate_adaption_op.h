// LearningRateAdaption: gradient descent on the learning rate (Baydin et al., ICLR 2018). lr, grad,
// effgrad -> lr.
#pragma once

#include "operators/common/total_product.h"

namespace caffe2 {

// An overload of TotalProduct, chosen by its last argument, computes the sums on the device.
template <class Context>
class LearningRateAdaptionOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LearningRateAdaptionOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        alpha_(this->template GetSingleArgument<float>("lr_alpha", 0.01f)),
        normalized_(this->template GetSingleArgument<bool>("normalized_lr_adaption", true)) {}

  bool RunOnDevice() override {
    const Tensor &lr = Input(0), &grad = Input(1), &effective = Input(2);
    CAFFE_ENFORCE(lr.numel() == 1, "lr must have one element, found ", lr.numel());
    CAFFE_ENFORCE(grad.numel() == effective.numel(),
                  "grad and effgrad must have the same number of elements: grad has shape ",
                  ShapeString(grad.sizes()), ", effgrad ", ShapeString(effective.sizes()));
    const float *g = grad.data<float>(), *e = effective.data<float>(), *rate = lr.data<float>();
    const int64_t n = grad.numel();
    Tensor sums(context_.device());
    sums.Resize(3);
    float* sum = sums.mutable_data<float>();
    TotalProduct(n, g, e, sum, &context_);
    TotalProduct(n, g, g, sum + 1, &context_);
    TotalProduct(n, e, e, sum + 2, &context_);
    Output(0)->ResizeLike(lr);
    ForEach(1, AdaptRate{alpha_, normalized_, rate, sum, Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }

 private:
  float alpha_;
  bool normalized_;
};

}  // namespace caffe2

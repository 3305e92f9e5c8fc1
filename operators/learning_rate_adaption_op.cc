// LearningRateAdaption: a learning rate that follows its own gradient (Baydin et al., ICLR 2018).
#include <algorithm>
#include <cmath>

#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

class LearningRateAdaptionOp final : public Operator<CPUContext> {
 public:
  LearningRateAdaptionOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        alpha_(GetSingleArgument<float>("lr_alpha", 0.01f)),
        normalized_(GetSingleArgument<bool>("normalized_lr_adaption", true)) {}

  bool RunOnDevice() override {
    const Tensor &lr = Input(0), &grad = Input(1), &effective = Input(2);
    CAFFE_ENFORCE_EQ(lr.numel(), 1, "elements of lr");
    CAFFE_ENFORCE_EQ(grad.numel(), effective.numel(), "elements of grad and effgrad");
    const float *g = grad.data<float>(), *e = effective.data<float>();
    double product = 0, g_squares = 0, e_squares = 0;
    for (int64_t i = 0; i < grad.numel(); ++i) {
      product += double{g[i]} * e[i];
      g_squares += double{g[i]} * g[i];
      e_squares += double{e[i]} * e[i];
    }
    const double rate = *lr.data<float>();
    constexpr double kLeast = 1e-12;  // norm
    double change = alpha_ * product;
    if (normalized_) {
      change *=
          rate / (std::max(std::sqrt(g_squares), kLeast) * std::max(std::sqrt(e_squares), kLeast));
    }
    Output(0)->ResizeLike(lr);
    *Output(0)->mutable_data<float>() = static_cast<float>(rate - change);
    return true;
  }

 private:
  float alpha_;
  bool normalized_;
};

}  // namespace

REGISTER_CPU_OPERATOR(LearningRateAdaption, LearningRateAdaptionOp);
OPERATOR_SCHEMA(LearningRateAdaption)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "A gradient step on a learning rate: lr - lr * lr_alpha * cos(grad, effgrad), or without "
        "normalization lr - lr_alpha * dot(grad, effgrad).")
    .Arg("lr_alpha", "(float, default 0.01) The learning rate of the learning rate.")
    .Arg("normalized_lr_adaption", "(bool, default 1) 0: without normalization.")
    .Input(0, "lr", "One float: the learning rate.")
    .Input(1, "grad", "Float: the gradient of the parameter.")
    .Input(2, "effgrad", "Float, of as many elements: the step of the optimizer before this one.")
    .Output(0, "output_lr", "The new learning rate; may overwrite it.");
SHOULD_NOT_DO_GRADIENT(LearningRateAdaption);

}  // namespace caffe2

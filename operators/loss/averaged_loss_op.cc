#include "operators/loss/averaged_loss_op.h"

#include <algorithm>

#include "operators/common/host_device_op.h"

namespace caffe2 {

template <>
bool AveragedLossOp<CPUContext>::RunOnDevice() {
  const Tensor& x = Input(0);
  const float* x_data = x.data<float>();
  const double sum = SumTerms(
      x.numel(), [x_data](int64_t i) { return x_data[i]; }, &context_);
  Tensor* mean = Output(0);
  mean->Resize();
  *mean->mutable_data<float>() =
      x.numel() == 0 ? 0.f : static_cast<float>(sum / static_cast<double>(x.numel()));
  return true;
}

template <>
bool AveragedLossGradientOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &d_mean = Input(1);
  CAFFE_ENFORCE(d_mean.numel() == 1, "the gradient of the mean must have one element, found ",
                d_mean.numel());
  const float share = *d_mean.data<float>() / static_cast<float>(std::max<int64_t>(1, x.numel()));
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  std::fill_n(dx->mutable_data<float>(), x.numel(), share);
  return true;
}

REGISTER_CPU_OPERATOR(AveragedLoss, AveragedLossOp<CPUContext>);
REGISTER_CPU_OPERATOR(AveragedLossGradient, AveragedLossGradientOp<CPUContext>);

OPERATOR_SCHEMA(AveragedLoss)
    .NumInputs(1)
    .NumOutputs(1)
    .ScalarType(TensorProto::FLOAT)
    .SetDoc("The mean of all elements; 0 if there are none.")
    .Input(0, "X", "A float tensor of any shape.")
    .Output(0, "mean", "A float scalar.");

OPERATOR_SCHEMA(AveragedLossGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of AveragedLoss: d_mean / (number of elements), everywhere.")
    .Input(0, "X", "The input of AveragedLoss. Only its shape is used.")
    .Input(1, "d_mean", "The gradient of the mean, a float scalar.")
    .Output(0, "dX", "The gradient of X, shaped like it.");

class GetAveragedLossGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("AveragedLossGradient", "", std::vector{I(0), GO(0)},
                             std::vector{GI(0)});
  }
};
REGISTER_GRADIENT(AveragedLoss, GetAveragedLossGradient);

}  // namespace caffe2

#include "operators/lars_op.h"

#include <algorithm>
#include <cmath>

#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

double Norm(const Tensor& x) {
  const float* data = x.data<float>();
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += static_cast<double>(data[i]) * data[i];
  return std::sqrt(sum);
}

}  // namespace

template <>
bool LarsOp<CPUContext>::RunOnDevice() {
  CheckOptimizerState(Input(X), Input(DX), "gradient");
  const double x_norm = Norm(Input(X)), dx_norm = Norm(Input(DX));
  double rate = 1;
  if (InputSize() == 2) {
    if (x_norm > 0) rate = 1 / (dx_norm / x_norm + offset_);
  } else {
    const double decay = *CheckLearningRate(Input(WEIGHT_DECAY));
    const double trust = *CheckLearningRate(Input(TRUST));
    const double lr_max = *CheckLearningRate(Input(LR_MAX));
    if (x_norm > 0) rate = trust / (dx_norm / x_norm + decay + offset_);
    rate = std::max<double>(std::min(rate, lr_max), lr_min_);
  }
  Tensor* out = Output(0);
  out->Resize(1);
  *out->mutable_data<float>() = static_cast<float>(rate);
  return true;
}

REGISTER_CPU_OPERATOR(Lars, LarsOp<CPUContext>);

OPERATOR_SCHEMA(Lars)
    .NumInputs({2, 5})
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape({1}, in[0].data_type())};
    })
    .SetDoc(
        "Layer-wise adaptive rate scaling (You et al., 2017): a factor for the learning rate "
        "of one layer. With two inputs it is 1 / (|dX| / |X| + offset); with five it is trust "
        "/ (|dX| / |X| + wd + offset), kept within [lr_min, lr_max]. If |X| is 0 it is 1.")
    .Arg("offset", "(float, default 0.5) Added to the divisor.")
    .Arg("lr_min", "(float, default 0.02) The least factor, with five inputs.")
    .Input(0, "X", "The float parameter.")
    .Input(1, "dX", "Its gradient.")
    .Input(2, "wd", "The weight decay, a float scalar.")
    .Input(3, "trust", "The trust coefficient, a float scalar.")
    .Input(4, "lr_max", "The largest factor, a float scalar.")
    .Output(0, "lr_rescaled", "The factor, a float tensor of one element.");
SHOULD_NOT_DO_GRADIENT(Lars);

}  // namespace caffe2

#include "operators/optimizer/adam_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Adam, AdamOp<CPUContext>);

OPERATOR_SCHEMA(Adam)
    .NumInputs(6, 7)
    .NumOutputs(3, 4)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out{in[0], in[0], in[0], in[0]};
      out.resize(def.output_size());
      return out;
    })
    .InputsCanCrossDevices()
    .SetDoc(
        "Adam (Kingma & Ba, ICLR 2015), with t = iter + 1: m1' = beta1 m1 + (1 - beta1) g; "
        "m2' = beta2 m2 + (1 - beta2) g^2; step = sqrt(1 - beta2^t) / (1 - beta1^t) * m1' / "
        "(sqrt(m2') + epsilon); param' = param + lr * step. The rate is negative to descend. With "
        "weight_decay the gradient is g + weight_decay * param or, if it is decoupled "
        "(Loshchilov & Hutter, ICLR 2019: AdamW), lr * weight_decay * param is added to param'.")
    .Arg<float>("beta1", "(default 0.9) The share of the first moment that is kept.")
    .Arg<float>("beta2", "(default 0.999) The share of the second moment that is kept.")
    .Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
    .Arg<float>("weight_decay", "(default 0) The share of the parameter added to the gradient.")
    .Arg<bool>("decoupled_weight_decay",
               "(default false) Add the decay, times the rate, to the parameter instead.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment_1", "The first moment, shaped like it; zeros at the start.")
    .Input(2, "moment_2", "The second moment, shaped like it; zeros at the start.")
    .Input(3, "grad", "The gradient, shaped like it.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.")
    .Input(5, "iter", "The iteration from 0, int64 of one element, on the host.")
    .Input(6, "found_inf", kFoundInfDoc)
    .Output(0, "output_param", "The new parameter; most often the same blob.")
    .Output(1, "output_moment_1", "The new first moment.")
    .Output(2, "output_moment_2", "The new second moment.")
    .Output(3, "output_grad", "Optional: the step.");
SHOULD_NOT_DO_GRADIENT(Adam);

}  // namespace caffe2

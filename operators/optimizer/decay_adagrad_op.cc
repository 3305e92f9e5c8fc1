#include "operators/optimizer/decay_adagrad_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(DecayAdagrad, DecayAdagradOp<CPUContext>);

OPERATOR_SCHEMA(DecayAdagrad)
    .NumInputs(6)
    .NumOutputs(3)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .InputsCanCrossDevices()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1], in[2]};
    })
    .SetDoc(
        "Adagrad with a first moment: m1' = beta1 m1 + (1 - beta1) grad; m2' = m2 + grad^2; param' "
        "= param + lr * (c m1' / (sqrt(m2') + epsilon) + weight_decay * param), where c = 1 / (1 - "
        "beta1^(iter + 1)) corrects the start.")
    .Arg<float>("beta1", "(default 0.9) The share of the first moment that is kept.")
    .Arg("beta2", "Accepted, without effect: all squares have the same weight.")
    .Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
    .Arg<float>("weight_decay", "(default 0) The share of the parameter added to the step.")
    .Arg<bool>("bias_correction_first", "(default true) 1: c is applied.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment_1", "The first moment, shaped like it; zeros at the start.")
    .Input(2, "moment_2", "The sum of squares, shaped like it; zeros at the start.")
    .Input(3, "grad", "The gradient, shaped like it.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.")
    .Input(5, "iter", "The iteration from 0, int64 of one element, on the host.")
    .Output(0, "output_param", "The new parameter; most often the same blob.")
    .Output(1, "output_moment_1", "The new first moment.")
    .Output(2, "output_moment_2", "The new sum of squares.");
SHOULD_NOT_DO_GRADIENT(DecayAdagrad);

}  // namespace caffe2

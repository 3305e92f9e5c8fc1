#include "operators/optimizer/adagrad_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Adagrad, AdagradOp<CPUContext>);

OPERATOR_SCHEMA(Adagrad)
    .NumInputs(4, 5)
    .NumOutputs(2, 4)
    .AllowInplace({{0, 0}, {1, 1}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Adagrad (Duchi et al., JMLR 2011): g = grad + weight_decay * param; moment' = decay * "
        "moment + g^2; param' = param + lr * g / (sqrt(moment') + epsilon). The rate is negative "
        "to descend.")
    .Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
    .Arg<float>("decay", "(default 1) The share of the moment that is kept.")
    .Arg<float>("weight_decay", "(default 0) The share of the parameter added to the gradient.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment", "The sum of squares, shaped like it; zeros at the start.")
    .Input(2, "grad", "The gradient, shaped like it.")
    .Input(3, "lr", "The learning rate, a float scalar; negative to descend.")
    .Input(4, "found_inf", kFoundInfDoc)
    .Output(0, "output_param", "The new parameter; most often the same blob.")
    .Output(1, "output_moment", "The new sum of squares.")
    .Output(2, "output_effective_lr", "Optional: the rate of each element.")
    .Output(3, "output_update", "Optional: the number added to each element.");
SHOULD_NOT_DO_GRADIENT(Adagrad);

}  // namespace caffe2

#include "operators/optimizer/rmsprop_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(RmsProp, RmsPropOp<CPUContext>);

OPERATOR_SCHEMA(RmsProp)
    .NumInputs(4, 5)
    .NumOutputs(3)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "RmsProp (Tieleman & Hinton, 2012): mean_squares' = mean_squares + (1 - decay) * "
        "(grad^2 - mean_squares); momentum' = momentum * momentum + lr * grad / "
        "sqrt(epsilon + mean_squares'). The step is momentum'; another operator applies it.")
    .Arg<float>("decay", "(default 0.9) The share of the mean squares that is kept.")
    .Arg<float>("momentum", "(default 0) The share of the last step that is kept.")
    .Arg<float>("epsilon", "(default 1e-5) Added under the root.")
    .Input(0, "grad", "The float gradient.")
    .Input(1, "mean_squares", "Shaped like the gradient.")
    .Input(2, "momentum", "The last step, shaped like the gradient; zeros at the start.")
    .Input(3, "lr", "The learning rate, a float scalar.")
    .Input(4, "found_inf", kFoundInfDoc)
    .Output(0, "output_grad", "The step.")
    .Output(1, "output_mean_squares", "The new mean squares.")
    .Output(2, "output_momentum", "The step, for the next run.");
SHOULD_NOT_DO_GRADIENT(RmsProp);

}  // namespace caffe2

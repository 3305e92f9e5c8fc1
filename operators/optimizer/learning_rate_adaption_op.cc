#include "operators/optimizer/learning_rate_adaption_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(LearningRateAdaption, LearningRateAdaptionOp<CPUContext>);
OPERATOR_SCHEMA(LearningRateAdaption)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "A gradient step on a learning rate: lr - lr * lr_alpha * cos(grad, effgrad), or without "
        "normalization lr - lr_alpha * dot(grad, effgrad).")
    .Arg<float>("lr_alpha", "(default 0.01) The learning rate of the learning rate.")
    .Arg<bool>("normalized_lr_adaption", "(default 1) 0: without normalization.")
    .Input(0, "lr", "One float: the learning rate.")
    .Input(1, "grad", "Float: the gradient of the parameter.")
    .Input(2, "effgrad", "Float, of as many elements: the step of the optimizer before this one.")
    .Output(0, "output_lr", "The new learning rate; may overwrite it.");
SHOULD_NOT_DO_GRADIENT(LearningRateAdaption);

}  // namespace caffe2

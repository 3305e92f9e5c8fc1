#include "operators/loss/sigmoid_cross_entropy_loss_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

using SigmoidCrossEntropyLoss = SigmoidCrossEntropyLossOp<CPUContext, false>;
using SigmoidCrossEntropyLossGradient = SigmoidCrossEntropyLossOp<CPUContext, true>;
REGISTER_CPU_OPERATOR(SigmoidCrossEntropyLoss, SigmoidCrossEntropyLoss);
REGISTER_CPU_OPERATOR(SigmoidCrossEntropyLossGradient, SigmoidCrossEntropyLossGradient);

namespace {

void SigmoidCrossEntropyLossArguments(OpSchema& schema) {
  schema
      .Arg<int>("normalize", "(default 1) 1: divides the loss by the number of targets that count.")
      .FillUsing(DescribeLossScale);
}

}  // namespace

OPERATOR_SCHEMA(SigmoidCrossEntropyLoss)
    .NumInputs(2)
    .NumOutputs(1)
    .ScalarType(TensorProto::FLOAT)
    .FillUsing(SigmoidCrossEntropyLossArguments)
    .SetDoc(
        "The mean of the binary cross entropies -(t log s(x) + (1 - t) log(1 - s(x))), with s the "
        "sigmoid, over all logits with a target; multiplied by `scale`.")
    .Input(0, "X", "Logits, a float tensor of any shape.")
    .Input(1, "targets", "As many int32 or int64: 0, 1, or -1 for a logit that does not count.")
    .Output(0, "loss", "A float scalar; 0 if no logit counts.");
OPERATOR_SCHEMA(SigmoidCrossEntropyLossGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(SigmoidCrossEntropyLossArguments)
    .SetDoc("The gradient of SigmoidCrossEntropyLoss with respect to the logits.")
    .Input(0, "X", "As in the forward operator.")
    .Input(1, "targets", "As in the forward operator.")
    .Input(2, "d_loss", "The gradient of the loss.")
    .Output(0, "dX", "The gradient of the logits.");
REGISTER_GRADIENT(SigmoidCrossEntropyLoss, GradientRule<"I0 I1 GO0 -> GI0">);

}  // namespace caffe2

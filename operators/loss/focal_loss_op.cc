#include "operators/loss/focal_loss_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

using SigmoidFocalLoss = SigmoidFocalLossOp<CPUContext, false>;
using SigmoidFocalLossGradient = SigmoidFocalLossOp<CPUContext, true>;
REGISTER_CPU_OPERATOR(SigmoidFocalLoss, SigmoidFocalLoss);
REGISTER_CPU_OPERATOR(SigmoidFocalLossGradient, SigmoidFocalLossGradient);
using SoftmaxFocalLoss = SoftmaxFocalLossOp<CPUContext, false>;
using SoftmaxFocalLossGradient = SoftmaxFocalLossOp<CPUContext, true>;
REGISTER_CPU_OPERATOR(SoftmaxFocalLoss, SoftmaxFocalLoss);
REGISTER_CPU_OPERATOR(SoftmaxFocalLossGradient, SoftmaxFocalLossGradient);

namespace {

void FocalLossArguments(OpSchema& schema) {
  schema.Arg<float>("alpha", "(default 0.25) Weight of objects; the background has 1 - alpha.")
      .Arg<float>("gamma", "(default 1) Power of 1 - p, with p the probability that is right.")
      .ArgOneOf("order", {"NCHW"}, "(default NCHW) The storage order.")
      .FillUsing(DescribeLossScale);
}
void SigmoidFocalLossArguments(OpSchema& schema) {
  schema.Arg<int>("num_classes", "(> 0, default 80) Classes, without the background.")
      .FillUsing(FocalLossArguments);
}
void SoftmaxFocalLossArguments(OpSchema& schema) {
  schema.Arg<int>("num_classes", "(> 0, default 81) Classes, with the background.")
      .FillUsing(FocalLossArguments);
}

}  // namespace

OPERATOR_SCHEMA(SigmoidFocalLoss)
    .NumInputs(3)
    .NumOutputs(1)
    .ScalarType(TensorProto::FLOAT)
    .FillUsing(SigmoidFocalLossArguments)
    .SetDoc(
        "The focal loss of RetinaNet (Lin et al., ICCV 2017), with a sigmoid for each class: scale "
        "/ max(1, normalizer) * the sum of -w (1 - p)^gamma log p, with p the probability of the "
        "right decision, w = alpha if the class is there, else 1 - alpha.")
    .Input(0, "logits", "Float N x (anchors * num_classes) x H x W.")
    .Input(1, "labels",
           "int32 or int64 N x anchors x H x W: c + 1 for class c, 0 for the background, -1 for an "
           "anchor that does not count.")
    .Input(2, "normalizer", "A float scalar, such as the number of objects.")
    .Output(0, "loss", "A float scalar.");
OPERATOR_SCHEMA(SigmoidFocalLossGradient)
    .NumInputs(4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(SigmoidFocalLossArguments)
    .SetDoc("The gradient of SigmoidFocalLoss with respect to the logits.")
    .Input(0, "logits", "As in the forward operator.")
    .Input(1, "labels", "As in the forward operator.")
    .Input(2, "normalizer", "As in the forward operator.")
    .Input(3, "d_loss", "The gradient of the loss.")
    .Output(0, "d_logits", "The gradient of the logits.");
REGISTER_GRADIENT(SigmoidFocalLoss, GradientRule<"I0 I1 I2 GO0 -> GI0">);

OPERATOR_SCHEMA(SoftmaxFocalLoss)
    .NumInputs(3)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape({}, TensorProto::FLOAT), in[0]};
    })
    .FillUsing(SoftmaxFocalLossArguments)
    .SetDoc(
        "The focal loss with a softmax over the classes of each anchor: scale / max(1, normalizer) "
        "* the sum of -w (1 - p)^gamma log p, with p the probability of the label, w = 1 - alpha "
        "for label 0 (the background), else alpha.")
    .Input(0, "scores", "Logits, float N x (anchors * num_classes) x H x W.")
    .Input(1, "labels",
           "int32 or int64 N x anchors x H x W, in [0, num_classes), or negative for an anchor "
           "that does not count.")
    .Input(2, "normalizer", "A float scalar, such as the number of objects.")
    .Output(0, "loss", "A float scalar.")
    .Output(1, "probabilities", "Shaped like the scores; each anchor's add up to 1.");
OPERATOR_SCHEMA(SoftmaxFocalLossGradient)
    .NumInputs(5)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(SoftmaxFocalLossArguments)
    .SetDoc("The gradient of SoftmaxFocalLoss's loss with respect to the scores.")
    .Input(0, "scores", "As in the forward operator. Only its shape is used.")
    .Input(1, "labels", "As in the forward operator.")
    .Input(2, "normalizer", "As in the forward operator.")
    .Input(3, "probabilities", "The second output of the forward operator.")
    .Input(4, "d_loss", "The gradient of the loss.")
    .Output(0, "d_scores", "The gradient of the scores.");
REGISTER_GRADIENT(SoftmaxFocalLoss, GradientRule<"I0 I1 I2 O1 GO0 -> GI0">);

}  // namespace caffe2

#include "operators/loss/smooth_l1_loss_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

using SmoothL1Loss = SmoothL1LossOp<CPUContext, false>;
using SmoothL1LossGradient = SmoothL1LossOp<CPUContext, true>;
REGISTER_CPU_OPERATOR(SmoothL1Loss, SmoothL1Loss);
REGISTER_CPU_OPERATOR(SmoothL1LossGradient, SmoothL1LossGradient);
using SelectSmoothL1Loss = SelectSmoothL1LossOp<CPUContext, false>;
using SelectSmoothL1LossGradient = SelectSmoothL1LossOp<CPUContext, true>;
REGISTER_CPU_OPERATOR(SelectSmoothL1Loss, SelectSmoothL1Loss);
REGISTER_CPU_OPERATOR(SelectSmoothL1LossGradient, SelectSmoothL1LossGradient);

namespace {

void SmoothL1Arguments(OpSchema& schema) {
  schema.Arg<float>("beta", "(> 0, default 1) Differences from here on count linearly.")
      .FillUsing(DescribeLossScale);
}

}  // namespace

OPERATOR_SCHEMA(SmoothL1Loss)
    .NumInputs(4)
    .NumOutputs(1)
    .ScalarType(TensorProto::FLOAT)
    .FillUsing(SmoothL1Arguments)
    .SetDoc(
        "The loss of boxes in Fast R-CNN: scale / N * the sum of alpha_out * f(alpha_in * (Y_hat - "
        "Y)), with f(x) = x^2 / (2 beta) for |x| < beta, else |x| - beta / 2. N is the first size "
        "of Y_hat.")
    .Input(0, "Y_hat", "Predictions, a float tensor of at least one axis.")
    .Input(1, "Y", "Targets, as many as predictions.")
    .Input(2, "alpha_in", "Weights of the differences, as many: 0 leaves one out.")
    .Input(3, "alpha_out", "Weights of the losses, as many.")
    .Output(0, "loss", "A float scalar; 0 if there are no predictions.");
OPERATOR_SCHEMA(SmoothL1LossGradient)
    .NumInputs(5)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(SmoothL1Arguments)
    .SetDoc("The gradient of SmoothL1Loss for the predictions; the other inputs get none.")
    .Input(0, "Y_hat", "As in the forward operator.")
    .Input(1, "Y", "As in the forward operator.")
    .Input(2, "alpha_in", "As in the forward operator.")
    .Input(3, "alpha_out", "As in the forward operator.")
    .Input(4, "d_loss", "The gradient of the loss.")
    .Output(0, "d_Y_hat", "The gradient of the predictions.");
REGISTER_GRADIENT(SmoothL1Loss, GradientRule<"I0 I1 I2 I3 GO0 -> GI0">);

OPERATOR_SCHEMA(SelectSmoothL1Loss)
    .NumInputs(4)
    .NumOutputs(1)
    .ScalarType(TensorProto::FLOAT)
    .FillUsing(SmoothL1Arguments)
    .SetDoc(
        "The loss of boxes in RetinaNet: scale / max(1, normalizer) * the sum of f(Y_hat - Y) over "
        "four channels at each of M locations, with f as in SmoothL1Loss.")
    .Input(0, "Y_hat", "Predictions, float N x C x H x W.")
    .Input(1, "Y", "Targets, float M x 4.")
    .Input(2, "locations",
           "Float M x 4: image, first of the four channels, y and x of each row of Y. No two may "
           "share an element.")
    .Input(3, "normalizer", "A float scalar, such as the number of objects.")
    .Output(0, "loss", "A float scalar; 0 if M is 0.");
OPERATOR_SCHEMA(SelectSmoothL1LossGradient)
    .NumInputs(5)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(SmoothL1Arguments)
    .SetDoc("The gradient of SelectSmoothL1Loss for the predictions; the other inputs get none.")
    .Input(0, "Y_hat", "As in the forward operator.")
    .Input(1, "Y", "As in the forward operator.")
    .Input(2, "locations", "As in the forward operator.")
    .Input(3, "normalizer", "As in the forward operator.")
    .Input(4, "d_loss", "The gradient of the loss.")
    .Output(0, "d_Y_hat", "The gradient of the predictions; 0 at all other locations.");
REGISTER_GRADIENT(SelectSmoothL1Loss, GradientRule<"I0 I1 I2 I3 GO0 -> GI0">);

}  // namespace caffe2

#include "operators/activation/group_spatial_softmax_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(GroupSpatialSoftmax, GroupSpatialSoftmaxOp<CPUContext>);
REGISTER_CPU_OPERATOR(GroupSpatialSoftmaxGradient, GroupSpatialSoftmaxGradientOp<CPUContext>);

namespace {

void GroupSpatialSoftmaxArguments(OpSchema& schema) {
  schema.Arg<int>("num_classes", "(> 0, default 81) Channels of a group.")
      .ArgOneOf("order", {"NCHW"}, "(default NCHW) The storage order.");
}

}  // namespace

OPERATOR_SCHEMA(GroupSpatialSoftmax)
    .NumInputs(1)
    .NumOutputs(1)
    .IdenticalTypeAndShape()
    .FillUsing(GroupSpatialSoftmaxArguments)
    .SetDoc(
        "At each pixel, the softmax over each group of num_classes channels that follow one "
        "another: the classes of RetinaNet's anchors.")
    .Input(0, "scores", "Logits, float N x (anchors * num_classes) x H x W.")
    .Output(0, "probabilities", "Shaped like the scores; each group's add up to 1.");
OPERATOR_SCHEMA(GroupSpatialSoftmaxGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(GroupSpatialSoftmaxArguments)
    .SetDoc("The gradient of GroupSpatialSoftmax.")
    .Input(0, "probabilities", "The output of the forward operator.")
    .Input(1, "d_probabilities", "Their gradient.")
    .Output(0, "d_scores", "The gradient of the scores.");
REGISTER_GRADIENT(GroupSpatialSoftmax, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2

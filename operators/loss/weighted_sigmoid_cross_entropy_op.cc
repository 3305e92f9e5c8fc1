// WeightedSigmoidCrossEntropyWithLogits: binary cross entropy with a weight for each element.
#include "operators/common/gradient_rule.h"
#include "operators/loss/sigmoid_cross_entropy_op.h"

namespace caffe2 {

using WeightedSigmoidCrossEntropy = SigmoidCrossEntropyOp<CPUContext, true>;
using WeightedSigmoidCrossEntropyGradient = SigmoidCrossEntropyGradientOp<CPUContext, true>;
REGISTER_CPU_OPERATOR(WeightedSigmoidCrossEntropyWithLogits, WeightedSigmoidCrossEntropy);
REGISTER_CPU_OPERATOR(WeightedSigmoidCrossEntropyWithLogitsGradient,
                      WeightedSigmoidCrossEntropyGradient);

OPERATOR_SCHEMA(WeightedSigmoidCrossEntropyWithLogits)
    .NumInputs(3)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape(LogitRows::LossDims(GetDimsVector(in[0])), in[0].data_type())};
    })
    .SetDoc(
        "-w (t log s(x) + (1 - t) log(1 - s(x))), with s the sigmoid, averaged over the last "
        "axis (divided by its length, not by the weights).")
    .Input(0, "logits", "A tensor x of float, float16 or bfloat16.")
    .Input(1, "targets", "Targets t in [0, 1], of the logits' shape and type.")
    .Input(2, "weights", "Weights w, of the logits' shape and type.")
    .Output(0, "loss", "The logits' shape without the last axis.");
OPERATOR_SCHEMA(WeightedSigmoidCrossEntropyWithLogitsGradient)
    .NumInputs(4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("The gradient of WeightedSigmoidCrossEntropyWithLogits for the logits.")
    .Input(0, "d_loss", "The gradient of the loss.")
    .Input(1, "logits", "As in the forward operator.")
    .Input(2, "targets", "As in the forward operator.")
    .Input(3, "weights", "As in the forward operator.")
    .Output(0, "d_logits", "The gradient of the logits, shaped like them.");
REGISTER_GRADIENT(WeightedSigmoidCrossEntropyWithLogits, GradientRule<"GO0 I* -> GI0">);

}  // namespace caffe2

#include "operators/loss/sigmoid_cross_entropy_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

SigmoidLoss ReadSigmoidLoss(const OperatorBase& op) {
  const bool log_d = op.GetSingleArgument<int>("log_D_trick", 0) != 0;
  const bool unjoined = op.GetSingleArgument<int>("unjoined_lr_loss", 0) != 0;
  CAFFE_ENFORCE(!log_d || !unjoined,
                "the arguments log_D_trick and unjoined_lr_loss cannot be used together");
  return log_d      ? SigmoidLoss::kLogD
         : unjoined ? SigmoidLoss::kUnjoined
                    : SigmoidLoss::kCrossEntropy;
}

using SigmoidCrossEntropy = SigmoidCrossEntropyOp<CPUContext, false>;
using SigmoidCrossEntropyGradient = SigmoidCrossEntropyGradientOp<CPUContext, false>;
REGISTER_CPU_OPERATOR(SigmoidCrossEntropyWithLogits, SigmoidCrossEntropy);
REGISTER_CPU_OPERATOR(SigmoidCrossEntropyWithLogitsGradient, SigmoidCrossEntropyGradient);

namespace {

void SigmoidCrossEntropyArguments(OpSchema& schema) {
  schema
      .Arg<int>("log_D_trick",
                "(default 0) 1: the loss is (1 - 2 t) log s(x), for a generator (Goodfellow et "
                "al., NIPS 2014).")
      .Arg<int>("unjoined_lr_loss",
                "(default 0) 1: the loss is -(t x + (1 - t) log(1 - s(x))), for data in which each "
                "positive example also appears as a negative one.");
}

}  // namespace

OPERATOR_SCHEMA(SigmoidCrossEntropyWithLogits)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape(LogitRows::LossDims(GetDimsVector(in[0])), in[0].data_type())};
    })
    .FillUsing(SigmoidCrossEntropyArguments)
    .SetDoc(
        "The binary cross entropy -(t log s(x) + (1 - t) log(1 - s(x))), with s the sigmoid, "
        "averaged over the last axis.")
    .Input(0, "logits", "A tensor x of float, float16 or bfloat16.")
    .Input(1, "targets", "Targets t in [0, 1], of the logits' shape and type.")
    .Output(0, "loss", "The logits' shape without the last axis.");
OPERATOR_SCHEMA(SigmoidCrossEntropyWithLogitsGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .FillUsing(SigmoidCrossEntropyArguments)
    .SetDoc("The gradient of SigmoidCrossEntropyWithLogits with respect to the logits.")
    .Input(0, "d_loss", "The gradient of the loss.")
    .Input(1, "logits", "As in the forward operator.")
    .Input(2, "targets", "As in the forward operator.")
    .Output(0, "d_logits", "The gradient of the logits, shaped like them.");

REGISTER_GRADIENT(SigmoidCrossEntropyWithLogits, GradientRule<"GO0 I0 I1 -> GI0">);

}  // namespace caffe2

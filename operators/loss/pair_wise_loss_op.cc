// PairWiseLoss: measures how often, and how clearly, scores and labels order pairs differently.
#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"
#include "operators/loss/ranking_loss_op.h"

namespace caffe2 {
namespace {

class GetPairWiseLossGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs{I(0), I(1), GO(0)};
    if (Def().input_size() > 2) inputs.push_back(I(2));
    return SingleGradientDef("PairWiseLossGradient", "", inputs, std::vector{GI(0)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(PairWiseLoss, PairWiseLossOp<CPUContext>);
REGISTER_CPU_OPERATOR(PairWiseLossGradient, PairWiseLossGradientOp<CPUContext>);
OPERATOR_SCHEMA(PairWiseLoss)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in.size() < 3)
        return std::vector<TensorShape>{CreateTensorShape({1}, TensorProto::FLOAT)};
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[2]), TensorProto::FLOAT)};
    })
    .SetDoc(
        "For each list, the average of log(1 + e^(X[worse] - X[better])) over all pairs of "
        "different labels, where the higher label is better; 0 without such pairs.")
    .Input(0, "X", "Float scores, one-dimensional or n x 1.")
    .Input(1, "label", "A float label for each score.")
    .Input(2, "lengths", "Optional int32 or int64: the lengths of the lists. Default: one list.")
    .Output(0, "output", "Float: the loss of each list.");
OPERATOR_SCHEMA(PairWiseLossGradient)
    .NumInputs(3, 4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of PairWiseLoss for the scores.")
    .Input(0, "X", "As in the forward operator.")
    .Input(1, "label", "As in the forward operator.")
    .Input(2, "dY", "The gradient of the losses.")
    .Input(3, "lengths", "As in the forward operator.")
    .Output(0, "dX", "The gradient of the scores.");
REGISTER_GRADIENT(PairWiseLoss, GetPairWiseLossGradient);

}  // namespace caffe2

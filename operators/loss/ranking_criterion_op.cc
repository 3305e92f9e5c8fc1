#include "operators/loss/ranking_criterion_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(MarginRankingCriterion, MarginRankingCriterionOp<CPUContext>);
REGISTER_CPU_OPERATOR(MarginRankingCriterionGradient, MarginRankingCriterionGradientOp<CPUContext>);
REGISTER_CPU_OPERATOR(CosineEmbeddingCriterion, CosineEmbeddingCriterionOp<CPUContext>);
REGISTER_CPU_OPERATOR(CosineEmbeddingCriterionGradient,
                      CosineEmbeddingCriterionGradientOp<CPUContext>);

OPERATOR_SCHEMA(MarginRankingCriterion)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("loss = max(0, margin - Y (X1 - X2)): X1 should be the larger where Y is 1.")
    .Arg<float>("margin", "(default 1) The difference from which on the loss is 0.")
    .Input(0, "X1", "A tensor of any shape: float, float16 or bfloat16.")
    .Input(1, "X2", "A tensor of the same shape and type.")
    .Input(2, "Y", "int32, of the same shape: 1 or -1.")
    .Output(0, "loss", "The loss of each pair.");
OPERATOR_SCHEMA(MarginRankingCriterionGradient)
    .NumInputs(4)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc("The gradients of MarginRankingCriterion.")
    .Arg<float>("margin", "As in the forward operator.")
    .Input(0, "X1", "As in the forward operator.")
    .Input(1, "X2", "As in the forward operator.")
    .Input(2, "Y", "As in the forward operator.")
    .Input(3, "dloss", "The gradient of the loss.")
    .Output(0, "dX1", "The gradient of X1.")
    .Output(1, "dX2", "The gradient of X2.");
OPERATOR_SCHEMA(CosineEmbeddingCriterion)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("loss = 1 - S where Y is 1, else max(0, S - margin), for cosines S.")
    .Arg<float>("margin", "(default 0) The cosine up to which pairs with Y = -1 have no loss.")
    .Input(0, "S", "Cosines of pairs, of any shape: float, float16 or bfloat16.")
    .Input(1, "Y", "int32, of the same shape: 1 or -1.")
    .Output(0, "loss", "The loss of each pair.");
OPERATOR_SCHEMA(CosineEmbeddingCriterionGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of CosineEmbeddingCriterion.")
    .Arg<float>("margin", "As in the forward operator.")
    .Input(0, "S", "As in the forward operator.")
    .Input(1, "Y", "As in the forward operator.")
    .Input(2, "dloss", "The gradient of the loss.")
    .Output(0, "dS", "The gradient of S.");
REGISTER_GRADIENT(MarginRankingCriterion, GradientRule<"I0 I1 I2 GO0 -> GI0 GI1">);
REGISTER_GRADIENT(CosineEmbeddingCriterion, GradientRule<"I0 I1 GO0 -> GI0">);

}  // namespace caffe2

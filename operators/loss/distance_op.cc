// Distances and products of pairs of rows: L1Distance, DotProduct, CosineSimilarity.
#include "operators/loss/distance_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {
namespace {

void DescribeDistance(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{
            CreateTensorShape({in[0].dims_size() == 0 ? 1 : in[0].dims(0)}, in[0].data_type())};
      })
      .Input(0, "X", "A tensor [N, ...] of float, float16 or bfloat16.")
      .Input(1, "Y", "A tensor of X's shape and type.")
      .Output(0, "Z", "A vector of N values, of X's type.");
}

void DescribeDistanceGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(2)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1]};
      })
      .Input(0, "X", "As in the forward operator.")
      .Input(1, "Y", "As in the forward operator.")
      .Input(2, "dZ", "The gradient of the output.")
      .Output(0, "dX", "The gradient of X.")
      .Output(1, "dY", "The gradient of Y.");
}

}  // namespace

REGISTER_CPU_OPERATOR(L1Distance, DistanceOp<CPUContext, L1Distance>);
REGISTER_CPU_OPERATOR(L1DistanceGradient, DistanceGradientOp<CPUContext, L1Distance>);
REGISTER_CPU_OPERATOR(DotProduct, DistanceOp<CPUContext, DotProduct>);
REGISTER_CPU_OPERATOR(DotProductGradient, DistanceGradientOp<CPUContext, DotProduct>);
REGISTER_CPU_OPERATOR(CosineSimilarity, DistanceOp<CPUContext, CosineSimilarity>);
REGISTER_CPU_OPERATOR(CosineSimilarityGradient, DistanceGradientOp<CPUContext, CosineSimilarity>);

OPERATOR_SCHEMA(L1Distance)
    .FillUsing(DescribeDistance)
    .SetDoc("Z[i] = the sum of |X - Y| over row i.");
OPERATOR_SCHEMA(L1DistanceGradient)
    .FillUsing(DescribeDistanceGradient)
    .SetDoc("The gradients of L1Distance: dX = dZ * sign(X - Y), dY = -dX.");
OPERATOR_SCHEMA(DotProduct)
    .FillUsing(DescribeDistance)
    .SetDoc("Z[i] = the sum of X * Y over row i.");
OPERATOR_SCHEMA(DotProductGradient)
    .FillUsing(DescribeDistanceGradient)
    .SetDoc("The gradients of DotProduct: dX = dZ * Y, dY = dZ * X.");
OPERATOR_SCHEMA(CosineSimilarity)
    .FillUsing(DescribeDistance)
    .SetDoc(
        "Z[i] = the cosine of the angle between rows i of X and Y. Squared norms below 1e-12 "
        "count as 1e-12, so that a row of zeros gives 0.");
OPERATOR_SCHEMA(CosineSimilarityGradient)
    .FillUsing(DescribeDistanceGradient)
    .SetDoc("The gradients of CosineSimilarity.");
REGISTER_GRADIENT(L1Distance, GradientRule<"I0 I1 GO0 -> GI0 GI1">);
REGISTER_GRADIENT(DotProduct, GradientRule<"I0 I1 GO0 -> GI0 GI1">);
REGISTER_GRADIENT(CosineSimilarity, GradientRule<"I0 I1 GO0 -> GI0 GI1">);

}  // namespace caffe2

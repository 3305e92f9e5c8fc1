// SquaredL2Distance: half the squared distance of each pair of rows.
#include "operators/common/gradient_rule.h"
#include "operators/loss/distance_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(SquaredL2Distance, DistanceOp<CPUContext, SquaredL2Distance>);
REGISTER_CPU_OPERATOR(SquaredL2DistanceGradient, DistanceGradientOp<CPUContext, SquaredL2Distance>);

OPERATOR_SCHEMA(SquaredL2Distance)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims_size() == 0 ? 1 : in[0].dims(0)}, in[0].data_type())};
    })
    .SetDoc("distance[i] = 1/2 * (sum over the row of (X - Y)^2), where rows are along axis 0.")
    .Input(0, "X", "A tensor [N, ...] of float, float16 or bfloat16.")
    .Input(1, "Y", "A tensor of X's shape and type.")
    .Output(0, "distance", "A vector of N distances, of X's type.");
OPERATOR_SCHEMA(SquaredL2DistanceGradient)
    .NumInputs(3)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc("The gradients of SquaredL2Distance: dX = d_distance * (X - Y), dY = -dX.")
    .Input(0, "X", "As in SquaredL2Distance.")
    .Input(1, "Y", "As in SquaredL2Distance.")
    .Input(2, "d_distance", "The gradient of the distances.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dY", "The gradient of Y.");

REGISTER_GRADIENT(SquaredL2Distance, GradientRule<"I0 I1 GO0 -> GI0 GI1">);

}  // namespace caffe2

#include "operators/optimizer/storm_op.h"

namespace caffe2 {
namespace {

void DescribeStorm(OpSchema& schema) {
  schema.NumOutputs(3)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1], in[2]};
      })
      .Arg<float>("momentum", "(default 10) c in the formula.")
      .Arg<float>("beta", "(default 0.1) Added to the sum of squares.")
      .Input(0, "param", "The float parameter.")
      .Input(1, "moment", "The momentum, shaped like it.")
      .Input(2, "grad_sq_sum", "One float: the sum of all squared gradients so far.")
      .Output(0, "output_param", "The new parameter; most often the same blob.")
      .Output(1, "output_moment", "The new momentum.")
      .Output(2, "output_grad_sq_sum", "The new sum.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Storm, StormOp<CPUContext>);
REGISTER_CPU_OPERATOR(SparseStorm, SparseStormOp<CPUContext>);
OPERATOR_SCHEMA(Storm)
    .NumInputs(5)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .FillUsing(DescribeStorm)
    .SetDoc(
        "STORM (Cutkosky & Orabona, NeurIPS 2019): sum' = sum + |grad|^2, rate = lr (beta + "
        "sum')^(-1/3), moment' = grad + (1 - c rate^2) (moment - grad), param' = param + rate "
        "moment'.")
    .Input(3, "grad", "The gradient, shaped like the parameter.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.");
OPERATOR_SCHEMA(SparseStorm)
    .NumInputs(6)
    .EnforceInplace({{0, 0}, {1, 1}, {2, 2}})
    .FillUsing(DescribeStorm)
    .SetDoc("Storm of the rows of a parameter that have a gradient. Other rows stay unchanged.")
    .Input(3, "grad", "The gradients, one row for each index.")
    .Input(4, "indices", "int32 or int64: the rows to update.")
    .Input(5, "lr", "The learning rate, a float scalar; negative to descend.");
SHOULD_NOT_DO_GRADIENT(Storm);
SHOULD_NOT_DO_GRADIENT(SparseStorm);

}  // namespace caffe2

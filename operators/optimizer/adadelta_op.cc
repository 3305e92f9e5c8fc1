#include "operators/optimizer/adadelta_op.h"

namespace caffe2 {
namespace {

void DescribeAdadelta(OpSchema& schema) {
  schema.NumOutputs(3)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1], in[2]};
      })
      .Arg<float>("epsilon", "(default 1e-5) Added to both mean squares.")
      .Arg<float>("decay", "(default 0.95) The share of the mean squares that is kept.")
      .Input(0, "param", "The float parameter.")
      .Input(1, "moment", "The mean square of the gradients, shaped like it; zeros at the start.")
      .Input(2, "moment_delta", "The mean square of the steps, shaped like it.")
      .Output(0, "output_param", "The new parameter; most often the same blob.")
      .Output(1, "output_moment", "The new mean square of the gradients.")
      .Output(2, "output_moment_delta", "The new mean square of the steps.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Adadelta, AdadeltaOp<CPUContext>);
REGISTER_CPU_OPERATOR(SparseAdadelta, SparseAdadeltaOp<CPUContext>);

OPERATOR_SCHEMA(Adadelta)
    .FillUsing(DescribeAdadelta)
    .NumInputs(5)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .SetDoc(
        "Adadelta (Zeiler, 2012): moment' = decay * moment + (1 - decay) grad^2; step = "
        "sqrt(moment_delta + epsilon) / sqrt(moment' + epsilon) * grad; moment_delta' = decay * "
        "moment_delta + (1 - decay) step^2; param' = param + lr * step.")
    .Input(3, "grad", "The gradient, shaped like it.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.");
OPERATOR_SCHEMA(SparseAdadelta)
    .FillUsing(DescribeAdadelta)
    .NumInputs(6)
    .EnforceOneToOneInplace()
    .SetDoc("Adadelta of the rows of a parameter that have a gradient. Other rows stay unchanged.")
    .Input(3, "indices", "int32 or int64: the rows to update.")
    .Input(4, "grad", "Their gradients, one row for each index.")
    .Input(5, "lr", "The learning rate, a float scalar; negative to descend.");
SHOULD_NOT_DO_GRADIENT(Adadelta);
SHOULD_NOT_DO_GRADIENT(SparseAdadelta);

}  // namespace caffe2

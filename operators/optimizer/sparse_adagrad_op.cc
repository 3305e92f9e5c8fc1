#include "operators/optimizer/sparse_adagrad_op.h"

namespace caffe2 {
namespace {

void DescribeSparseAdagrad(OpSchema& schema) {
  schema.NumOutputs(2)
      .EnforceOneToOneInplace()
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1]};
      })
      .Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
      .Arg<float>("decay", "(default 1) The share of the moment that is kept at each update.")
      .Arg<float>("weight_decay", "(default 0) The share of a row that is added to its gradient.")
      .Input(0, "param", "The parameter, float or float16; updated. All else is float.")
      .Input(2, "indices", "int32 or int64: the rows to update.")
      .Input(3, "grad", "Their gradients, one row for each index.")
      .Input(4, "lr", "The learning rate, a float scalar; negative to descend.")
      .Output(0, "output_param", "The parameter, in place.")
      .Output(1, "output_moment_1", "The moment, in place.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SparseAdagrad, SparseAdagradOp<CPUContext>);
REGISTER_CPU_OPERATOR(RowWiseSparseAdagrad, RowWiseSparseAdagradOp<CPUContext>);

OPERATOR_SCHEMA(SparseAdagrad)
    .NumInputs(5)
    .FillUsing(DescribeSparseAdagrad)
    .SetDoc("Adagrad of the rows of a parameter that have a gradient. Other rows stay unchanged.")
    .Input(1, "moment", "The sum of squares, shaped like the parameter; updated.");
OPERATOR_SCHEMA(RowWiseSparseAdagrad)
    .NumInputs(5, 6)
    .FillUsing(DescribeSparseAdagrad)
    .SetDoc(
        "Adagrad of the rows of a parameter that have a gradient, with one rate for each row: "
        "moment[row] += mean(grad^2), param[row] += lr * grad / (sqrt(moment[row]) + epsilon).")
    .Arg<int>("counter_halflife",
              "(default -1) With a counter, and if positive: the weight decay of a row is "
              "multiplied with counter_halflife / counter[row].")
    .Input(1, "moment", "One number for each row of the parameter; updated.")
    .Input(5, "counter", "Optional: double, one for each row, as RowWiseCounter counts.");
SHOULD_NOT_DO_GRADIENT(SparseAdagrad);
SHOULD_NOT_DO_GRADIENT(RowWiseSparseAdagrad);

}  // namespace caffe2

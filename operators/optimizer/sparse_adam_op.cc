#include "operators/optimizer/sparse_adam_op.h"

namespace caffe2 {
namespace {

void DescribeSparseAdam(OpSchema& schema) {
  schema.NumInputs(7)
      .NumOutputs(3, 4)
      .EnforceInplace({{0, 0}, {1, 1}, {2, 2}})
      .InputsCanCrossDevices()
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        std::vector<TensorShape> out{in[0], in[1], in[2]};
        if (def.output_size() > 3) out.push_back(in[4]);
        return out;
      })
      .Arg<float>("beta1", "(default 0.9) The share of the first moment that is kept.")
      .Arg<float>("beta2", "(default 0.999) The share of the second moment that is kept.")
      .Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
      .Input(0, "param", "The float parameter; updated.")
      .Input(1, "moment_1", "The first moment, shaped like it; updated.")
      .Input(3, "indices", "int32 or int64: the rows to update.")
      .Input(4, "grad", "Their gradients, one row for each index.")
      .Input(5, "lr", "The learning rate, a float scalar; negative to descend.")
      .Input(6, "iter", "The iteration from 0, int64 of one element, on the host.")
      .Output(0, "output_param", "The parameter, in place.")
      .Output(1, "output_moment_1", "The first moment, in place.")
      .Output(2, "output_moment_2", "The second moment, in place.")
      .Output(3, "output_grad", "Optional: the step without the rate, shaped like grad.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SparseAdam, SparseAdamOp<CPUContext>);
REGISTER_CPU_OPERATOR(RowWiseSparseAdam, RowWiseSparseAdamOp<CPUContext>);

OPERATOR_SCHEMA(SparseAdam)
    .FillUsing(DescribeSparseAdam)
    .SetDoc(
        "Adam of the rows of a parameter that have a gradient. The moments of other rows do not "
        "decay.")
    .Arg<bool>("enableRAdam",
               "(default false) 1: Rectified Adam (Liu et al., 2019), which makes steps of SGD "
               "with momentum while the variance of the second moment is not tractable.")
    .Input(2, "moment_2", "The second moment, shaped like the parameter; updated.");
OPERATOR_SCHEMA(RowWiseSparseAdam)
    .FillUsing(DescribeSparseAdam)
    .SetDoc(
        "Adam of the rows of a parameter that have a gradient, with one second moment for each "
        "row, of the mean of grad^2 over the row.")
    .Input(2, "moment_2", "One number for each row of the parameter; updated.");
SHOULD_NOT_DO_GRADIENT(SparseAdam);
SHOULD_NOT_DO_GRADIENT(RowWiseSparseAdam);

}  // namespace caffe2

#include "operators/optimizer/smart_decay_sparse_adam_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(SmartDecaySparseAdam, SmartDecaySparseAdamOp<CPUContext>);
OPERATOR_SCHEMA(SmartDecaySparseAdam)
    .NumInputs(8)
    .NumOutputs(4)
    .EnforceInplace({{0, 0}, {1, 1}, {2, 2}, {3, 3}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1], in[2], in[3]};
    })
    .SetDoc(
        "Adam of the rows of a parameter that have a gradient. The moments of a row decay for all "
        "iterations since its last gradient, and the row also gets the steps that its first moment "
        "would have made in them. Moments are not corrected for their bias.")
    .Arg<float>("beta1", "(in [0, 1), default 0.9) The share of the first moment that is kept.")
    .Arg<float>("beta2", "(default 0.999) The share of the second moment that is kept.")
    .Arg<float>("epsilon", "(default 1e-5) Added to the divisor.")
    .Input(0, "param", "The float parameter; updated.")
    .Input(1, "moment_1", "The first moment, shaped like it; updated.")
    .Input(2, "moment_2", "The second moment, shaped like it; updated.")
    .Input(3, "last_seen", "int64: the iteration, from 1, of each row's last gradient; updated.")
    .Input(4, "indices", "int32 or int64: the rows to update.")
    .Input(5, "grad", "Their gradients, one row for each index.")
    .Input(6, "lr", "The learning rate, a float scalar; negative to descend.")
    .Input(7, "iter", "The iteration from 0, int64 of one element.")
    .Output(0, "output_param", "The parameter, in place.")
    .Output(1, "output_moment_1", "The first moment, in place.")
    .Output(2, "output_moment_2", "The second moment, in place.")
    .Output(3, "output_last_seen", "last_seen, in place.");
SHOULD_NOT_DO_GRADIENT(SmartDecaySparseAdam);

}  // namespace caffe2

#include "operators/optimizer/sparse_momentum_sgd_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(SparseMomentumSGDUpdate, SparseMomentumSgdOp<CPUContext>);
OPERATOR_SCHEMA(SparseMomentumSGDUpdate)
    .NumInputs(5)
    .NumOutputs(3)
    .AllowInplace({{0, 0}})
    .EnforceInplace({{1, 1}, {3, 2}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1], in[3]};
    })
    .SetDoc(
        "MomentumSGDUpdate of the rows of a parameter that have a gradient. The momentum of other "
        "rows does not decay.")
    .Arg<float>("momentum", "(default 0) The share of the last step that is kept.")
    .Arg<int>("nesterov", "(default 0) 1 for Nesterov's form.")
    .Input(0, "grad", "Gradients, one row for each index.")
    .Input(1, "moment", "The momentum, shaped like the parameter; updated.")
    .Input(2, "lr", "The learning rate, a float scalar; positive to descend.")
    .Input(3, "param", "The float parameter; updated.")
    .Input(4, "indices", "int32 or int64: the rows to update.")
    .Output(0, "output_grad", "The steps, which were subtracted from the rows; may overwrite grad.")
    .Output(1, "output_moment", "The momentum, in place.")
    .Output(2, "output_param", "The parameter, in place.");
SHOULD_NOT_DO_GRADIENT(SparseMomentumSGDUpdate);

}  // namespace caffe2

#include "operators/optimizer/sparse_ftrl_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(SparseFtrl, SparseFtrlOp<CPUContext>);
OPERATOR_SCHEMA(SparseFtrl)
    .NumInputs(4, 5)
    .NumOutputs(2)
    .EnforceInplace({{0, 0}, {1, 1}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc("Ftrl of the rows of a parameter that have a gradient.")
    .Arg<float>("alpha", "(> 0, default 0.005) The learning rate, unless given as an input.")
    .Arg<float>("beta", "(default 1) Slows the first steps.")
    .Arg<float>("lambda1", "(default 0.001) The L1 regularization.")
    .Arg<float>("lambda2", "(default 0.001) The L2 regularization.")
    .Input(0, "var", "The float parameter; updated.")
    .Input(1, "n_z", "Its state: n and z of each element in turn, [..., 2]; updated.")
    .Input(2, "indices", "int32 or int64: the rows to update.")
    .Input(3, "grad", "Their gradients, one row for each index.")
    .Input(4, "alpha", "Optional: the learning rate, a float scalar.")
    .Output(0, "output_var", "The parameter, in place.")
    .Output(1, "output_n_z", "The state, in place.");
SHOULD_NOT_DO_GRADIENT(SparseFtrl);

}  // namespace caffe2

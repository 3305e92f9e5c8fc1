#include "operators/optimizer/ftrl_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Ftrl, FtrlOp<CPUContext>);

void DescribeFtrl(OpSchema& schema) {
  schema.NumInputs(3, 4)
      .NumOutputs(2)
      .AllowInplace({{0, 0}, {1, 1}})
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1]};
      })
      .Arg<float>("alpha", "(> 0, default 0.005) The learning rate, unless given as an input.")
      .Arg<float>("beta", "(default 1) Slows the first steps.")
      .Arg<float>("lambda2", "(default 0.001) The L2 regularization.")
      .Input(0, "var", "The float parameter w.")
      .Input(1, "n_z", "Its state: n and z of each element in turn, [..., 2]; zeros at the start.")
      .Input(2, "grad", "The gradient g, shaped like the parameter.")
      .Input(3, "alpha", "Optional: the learning rate, a float scalar.")
      .Output(0, "output_var", "The new parameter; most often the same blob.")
      .Output(1, "output_n_z", "The new state.");
}

OPERATOR_SCHEMA(Ftrl)
    .FillUsing(DescribeFtrl)
    .SetDoc(
        "FTRL-proximal (McMahan et al., KDD 2013): n' = n + g^2; z' = z + g - (sqrt(n') - "
        "sqrt(n)) / alpha * w; w' = 0 if |z'| <= lambda1, else (sign(z') lambda1 - z') / "
        "((beta + sqrt(n')) / alpha + lambda2).")
    .Arg<float>("lambda1", "(default 0.001) The L1 regularization.");
SHOULD_NOT_DO_GRADIENT(Ftrl);

}  // namespace caffe2

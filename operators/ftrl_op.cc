#include "operators/ftrl_op.h"

#include <cmath>

#include "operators/optimizer_check.h"

namespace caffe2 {

void FtrlUpdate(int64_t n, const FtrlArguments& arguments, float alpha, const float* w,
                const float* state, const float* g, float* w_out, float* state_out) {
  CAFFE_ENFORCE_GT(alpha, 0, "alpha");
  const float inverse = 1 / alpha, lambda1 = arguments.lambda1;
  for (int64_t i = 0; i < n; ++i) {
    const float squares = state[2 * i], next = squares + g[i] * g[i];
    const float sigma = (std::sqrt(next) - std::sqrt(squares)) * inverse;
    const float z = state[2 * i + 1] + g[i] - sigma * w[i];
    state_out[2 * i] = next;
    state_out[2 * i + 1] = z;
    w_out[i] = std::fabs(z) > lambda1
                   ? (std::copysign(lambda1, z) - z) /
                         ((arguments.beta + std::sqrt(next)) * inverse + arguments.lambda2)
                   : 0;
  }
}

template <>
bool FtrlOp<CPUContext>::RunOnDevice() {
  const Tensor &var = Input(VAR), &n_z = Input(N_Z), &grad = Input(GRAD);
  CheckOptimizerState(var, grad, "gradient");
  CAFFE_ENFORCE_EQ(n_z.numel(), 2 * var.numel(), "n_z ", ShapeString(n_z.sizes()), " for var ",
                   ShapeString(var.sizes()), ": two values an element are needed");
  const float alpha = InputSize() > ALPHA ? *CheckLearningRate(Input(ALPHA)) : arguments_.alpha;
  const float *w = var.data<float>(), *state = n_z.data<float>(), *g = grad.data<float>();
  Tensor *var_out = Output(VAR_OUT), *n_z_out = Output(N_Z_OUT);
  var_out->ResizeLike(var);
  n_z_out->ResizeLike(n_z);
  FtrlUpdate(var.numel(), arguments_, alpha, w, state, g, var_out->mutable_data<float>(),
             n_z_out->mutable_data<float>());
  return true;
}

REGISTER_CPU_OPERATOR(Ftrl, FtrlOp<CPUContext>);

void DescribeFtrl(OpSchema& schema) {
  schema.NumInputs(3, 4)
      .NumOutputs(2)
      .AllowInplace({{0, 0}, {1, 1}})
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1]};
      })
      .Arg("alpha", "(float > 0, default 0.005) The learning rate, unless given as an input.")
      .Arg("beta", "(float, default 1) Slows the first steps.")
      .Arg("lambda2", "(float, default 0.001) The L2 regularization.")
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
    .Arg("lambda1", "(float, default 0.001) The L1 regularization.");
SHOULD_NOT_DO_GRADIENT(Ftrl);

}  // namespace caffe2

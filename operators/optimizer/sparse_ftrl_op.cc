// SparseFtrl: Ftrl of the rows that a sparse gradient names.
#include "operators/optimizer/ftrl_op.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {
namespace {

template <class Context>
class SparseFtrlOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseFtrlOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), arguments_(*this) {}

  bool RunOnDevice() override {
    const Tensor &var = Input(VAR), &n_z = Input(N_Z), &grad = Input(GRAD);
    const RowUpdate update = CheckRowUpdate(var, Input(INDICES), grad);
    CAFFE_ENFORCE_EQ(n_z.numel(), 2 * var.numel(), "n_z ", ShapeString(n_z.sizes()), " for var ",
                     ShapeString(var.sizes()), ": two values an element are needed");
    const Rate alpha = arguments_.AlphaOf(*this, ALPHA, &context_);
    const float* g = grad.data<float>();
    float* w = UpdatedData<float>(Output(0));
    float* state = UpdatedData<float>(Output(1));
    for (const int64_t row : update.rows) {
      float *w_row = w + row * update.width, *state_row = state + 2 * row * update.width;
      const FtrlElements elements{arguments_.rule, alpha, w_row, state_row, g, w_row, state_row};
      for (int64_t j = 0; j < update.width; ++j) elements(j);
      g += update.width;
    }
    return true;
  }

 private:
  enum { VAR, N_Z, INDICES, GRAD, ALPHA };
  FtrlArguments arguments_;
};

}  // namespace

REGISTER_CPU_OPERATOR(SparseFtrl, SparseFtrlOp<CPUContext>);
OPERATOR_SCHEMA(SparseFtrl)
    .NumInputs(4, 5)
    .NumOutputs(2)
    .EnforceInplace({{0, 0}, {1, 1}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc("Ftrl of the rows of a parameter that have a gradient.")
    .Arg("alpha", "(float > 0, default 0.005) The learning rate, unless given as an input.")
    .Arg("beta", "(float, default 1) Slows the first steps.")
    .Arg("lambda1", "(float, default 0.001) The L1 regularization.")
    .Arg("lambda2", "(float, default 0.001) The L2 regularization.")
    .Input(0, "var", "The float parameter; updated.")
    .Input(1, "n_z", "Its state: n and z of each element in turn, [..., 2]; updated.")
    .Input(2, "indices", "int32 or int64: the rows to update.")
    .Input(3, "grad", "Their gradients, one row for each index.")
    .Input(4, "alpha", "Optional: the learning rate, a float scalar.")
    .Output(0, "output_var", "The parameter, in place.")
    .Output(1, "output_n_z", "The state, in place.");
SHOULD_NOT_DO_GRADIENT(SparseFtrl);

}  // namespace caffe2

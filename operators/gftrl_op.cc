// GFtrl: Ftrl that keeps or drops whole input features (group lasso).
#include <cmath>

#include "operators/ftrl_op.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

class GFtrlOp final : public Operator<CPUContext> {
 public:
  GFtrlOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), settings_(*this) {}

  bool RunOnDevice() override {
    const Tensor &var = Input(VAR), &n_z = Input(N_Z), &grad = Input(GRAD);
    CheckOptimizerState(var, grad, "gradient");
    CAFFE_ENFORCE_GE(var.dim(), 1, "the parameter must have rows");
    CAFFE_ENFORCE_EQ(n_z.numel(), 2 * var.numel(), "n_z ", ShapeString(n_z.sizes()), " for var ",
                     ShapeString(var.sizes()), ": two values an element are needed");
    const float alpha = settings_.AlphaOf(*this, ALPHA, &context_)();
    const float *w = var.data<float>(), *state = n_z.data<float>(), *g = grad.data<float>();
    Output(0)->ResizeLike(var);
    Output(1)->ResizeLike(n_z);
    float* w_out = Output(0)->mutable_data<float>();
    float* state_out = Output(1)->mutable_data<float>();
    const int64_t features = var.size_from_dim(1), outputs = var.size(0);
    for (int64_t j = 0; j < features; ++j) {
      double squares = 0;
      for (int64_t i = j; i < outputs * features; i += features) {
        const float next = state[2 * i] + g[i] * g[i];
        const float sigma = (std::sqrt(next) - std::sqrt(state[2 * i])) / alpha;
        state_out[2 * i + 1] = state[2 * i + 1] + g[i] - sigma * w[i];
        state_out[2 * i] = next;
        squares += double{state_out[2 * i + 1]} * state_out[2 * i + 1];
      }
      const double norm = std::sqrt(squares);
      const double least = settings_.rule.lambda1 * std::sqrt(static_cast<double>(outputs));
      const double share = norm > least ? least / norm - 1 : 0;
      for (int64_t i = j; i < outputs * features; i += features) {
        const double rate =
            (settings_.rule.beta + std::sqrt(state_out[2 * i])) / alpha + settings_.rule.lambda2;
        w_out[i] = static_cast<float>(share * state_out[2 * i + 1] / rate);
      }
    }
    return true;
  }

 private:
  enum { VAR, N_Z, GRAD, ALPHA };
  FtrlArguments settings_;
};

}  // namespace

REGISTER_CPU_OPERATOR(GFtrl, GFtrlOp);
OPERATOR_SCHEMA(GFtrl)
    .FillUsing(DescribeFtrl)
    .SetDoc(
        "Ftrl with group lasso, for a parameter of D rows: n and z change as in Ftrl; a column is "
        "0 where its |z'| <= lambda1 sqrt(D), else w' = z' (lambda1 sqrt(D) / |z'| - 1) / ((beta + "
        "sqrt(n')) / alpha + lambda2).")
    .Arg("lambda1", "(float, default 0.001) The weight of the group lasso.")
    .Input(0, "var", "The float parameter w: a row for each output, a column for each feature.");
SHOULD_NOT_DO_GRADIENT(GFtrl);

}  // namespace caffe2

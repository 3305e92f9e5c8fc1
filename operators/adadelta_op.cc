// Adadelta and SparseAdadelta: steps in the units of the parameter (Zeiler, 2012).
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

// kSparse: the inputs have the rows that the gradient names before the gradient.
template <class Context, bool kSparse>
class AdadeltaOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AdadeltaOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)),
        decay_(this->template GetSingleArgument<float>("decay", 0.95f)) {}

  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &moment = Input(MOMENT), &delta = Input(DELTA);
    const Tensor& grad = Input(GRAD);
    const float lr = *CheckLearningRate(Input(LR));
    CheckOptimizerState(param, moment, "moment");
    CheckOptimizerState(param, delta, "moment_delta");
    const float* g = grad.data<float>();
    if constexpr (kSparse) {
      const RowUpdate update = CheckRowUpdate(param, Input(INDICES), grad);
      for (const int64_t row : update.rows) {
        const int64_t at = row * update.width;
        Update(update.width, lr, g, param.data<float>() + at, moment.data<float>() + at,
               delta.data<float>() + at, at);
        g += update.width;
      }
    } else {
      CheckOptimizerState(param, grad, "gradient");
      for (int i = 0; i < 3; ++i) Output(i)->ResizeLike(param);
      Update(param.numel(), lr, g, param.data<float>(), moment.data<float>(), delta.data<float>(),
             0);
    }
    return true;
  }

 private:
  static constexpr int INDICES = 3, GRAD = kSparse ? 4 : 3, LR = GRAD + 1;
  enum { PARAM, MOMENT, DELTA };

  // Of n elements, whose results go to the outputs from element `at` on.
  void Update(int64_t n, float lr, const float* g, const float* p, const float* h, const float* d,
              int64_t at) {
    float* p_out = Output(PARAM)->template mutable_data<float>() + at;
    float* h_out = Output(MOMENT)->template mutable_data<float>() + at;
    float* d_out = Output(DELTA)->template mutable_data<float>() + at;
    for (int64_t i = 0; i < n; ++i) {
      const float squares = decay_ * h[i] + (1 - decay_) * g[i] * g[i];
      const float step = std::sqrt(d[i] + epsilon_) / std::sqrt(squares + epsilon_) * g[i];
      h_out[i] = squares;
      d_out[i] = decay_ * d[i] + (1 - decay_) * step * step;
      p_out[i] = p[i] + lr * step;
    }
  }

  float epsilon_, decay_;
};

void Describe(OpSchema& schema) {
  schema.NumOutputs(3)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1], in[2]};
      })
      .Arg("epsilon", "(float, default 1e-5) Added to both mean squares.")
      .Arg("decay", "(float, default 0.95) The share of the mean squares that is kept.")
      .Input(0, "param", "The float parameter.")
      .Input(1, "moment", "The mean square of the gradients, shaped like it; zeros at the start.")
      .Input(2, "moment_delta", "The mean square of the steps, shaped like it.")
      .Output(0, "output_param", "The new parameter; most often the same blob.")
      .Output(1, "output_moment", "The new mean square of the gradients.")
      .Output(2, "output_moment_delta", "The new mean square of the steps.");
}

}  // namespace

using DenseAdadelta = AdadeltaOp<CPUContext, false>;
using SparseAdadelta = AdadeltaOp<CPUContext, true>;
REGISTER_CPU_OPERATOR(Adadelta, DenseAdadelta);
REGISTER_CPU_OPERATOR(SparseAdadelta, SparseAdadelta);

OPERATOR_SCHEMA(Adadelta)
    .FillUsing(Describe)
    .NumInputs(5)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .SetDoc(
        "Adadelta (Zeiler, 2012): moment' = decay * moment + (1 - decay) grad^2; step = "
        "sqrt(moment_delta + epsilon) / sqrt(moment' + epsilon) * grad; moment_delta' = decay * "
        "moment_delta + (1 - decay) step^2; param' = param + lr * step.")
    .Input(3, "grad", "The gradient, shaped like it.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.");
OPERATOR_SCHEMA(SparseAdadelta)
    .FillUsing(Describe)
    .NumInputs(6)
    .EnforceOneToOneInplace()
    .SetDoc("Adadelta of the rows of a parameter that have a gradient; others are left alone.")
    .Input(3, "indices", "int32 or int64: the rows to update.")
    .Input(4, "grad", "Their gradients, one row for each index.")
    .Input(5, "lr", "The learning rate, a float scalar; negative to descend.");
SHOULD_NOT_DO_GRADIENT(Adadelta);
SHOULD_NOT_DO_GRADIENT(SparseAdadelta);

}  // namespace caffe2

// Storm and SparseStorm: momentum that corrects itself, with a rate from the sum of squared
// gradients (Cutkosky & Orabona, NeurIPS 2019).
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

// What both operators share.
class StormBase : public Operator<CPUContext> {
 public:
  StormBase(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        momentum_(GetSingleArgument<float>("momentum", 10.f)),
        beta_(GetSingleArgument<float>("beta", 0.1f)) {}

 protected:
  // One step: its rate, and the share of the old momentum's error that is dropped.
  struct Step {
    float rate = 0, alpha = 0;

    void Apply(int64_t n, const float* p, const float* m, const float* g, float* p_out,
               float* m_out) const {
      for (int64_t i = 0; i < n; ++i) {
        const float moment = g[i] + (1 - alpha) * (m[i] - g[i]);
        m_out[i] = moment;
        p_out[i] = p[i] + rate * moment;
      }
    }
  };
  // Adds the squares of the gradient to `sum`, which it writes to output 2.
  Step MakeStep(const Tensor& sum, const Tensor& grad, const Tensor& lr) {
    CAFFE_ENFORCE_EQ(sum.numel(), 1, "elements of grad_sq_sum ", ShapeString(sum.sizes()));
    double squares = *sum.data<float>();
    const float *g = grad.data<float>(), base = *CheckLearningRate(lr);
    for (int64_t i = 0; i < grad.numel(); ++i) squares += double{g[i]} * g[i];
    CAFFE_ENFORCE_GT(beta_ + squares, 0, "beta + grad_sq_sum");
    Output(2)->ResizeLike(sum);
    *Output(2)->mutable_data<float>() = static_cast<float>(squares);
    Step step;
    step.rate = static_cast<float>(base / std::cbrt(beta_ + squares));
    step.alpha = momentum_ * step.rate * step.rate;
    return step;
  }

 private:
  float momentum_, beta_;
};

class StormOp final : public StormBase {
 public:
  using StormBase::StormBase;
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &moment = Input(MOMENT), &grad = Input(GRAD);
    CheckOptimizerState(param, moment, "moment");
    CheckOptimizerState(param, grad, "gradient");
    const float *p = param.data<float>(), *m = moment.data<float>(), *g = grad.data<float>();
    const Step step = MakeStep(Input(GRAD_SQ_SUM), grad, Input(LR));
    Output(0)->ResizeLike(param);
    Output(1)->ResizeLike(moment);
    step.Apply(param.numel(), p, m, g, Output(0)->mutable_data<float>(),
               Output(1)->mutable_data<float>());
    return true;
  }

 private:
  enum { PARAM, MOMENT, GRAD_SQ_SUM, GRAD, LR };
};

class SparseStormOp final : public StormBase {
 public:
  using StormBase::StormBase;
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &grad = Input(GRAD);
    CheckOptimizerState(param, Input(MOMENT), "moment");
    const RowUpdate update = CheckRowUpdate(param, Input(INDICES), grad);
    const float* g = grad.data<float>();
    const Step step = MakeStep(Input(GRAD_SQ_SUM), grad, Input(LR));
    float *p = Output(0)->mutable_data<float>(), *m = Output(1)->mutable_data<float>();
    for (const int64_t row : update.rows) {
      const int64_t at = row * update.width;
      step.Apply(update.width, p + at, m + at, g, p + at, m + at);
      g += update.width;
    }
    return true;
  }

 private:
  enum { PARAM, MOMENT, GRAD_SQ_SUM, GRAD, INDICES, LR };
};

void Describe(OpSchema& schema) {
  schema.NumOutputs(3)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1], in[2]};
      })
      .Arg("momentum", "(float, default 10) c in the formula.")
      .Arg("beta", "(float, default 0.1) Added to the sum of squares.")
      .Input(0, "param", "The float parameter.")
      .Input(1, "moment", "The momentum, shaped like it.")
      .Input(2, "grad_sq_sum", "One float: the sum of all squared gradients so far.")
      .Output(0, "output_param", "The new parameter; most often the same blob.")
      .Output(1, "output_moment", "The new momentum.")
      .Output(2, "output_grad_sq_sum", "The new sum.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Storm, StormOp);
REGISTER_CPU_OPERATOR(SparseStorm, SparseStormOp);
OPERATOR_SCHEMA(Storm)
    .NumInputs(5)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .FillUsing(Describe)
    .SetDoc(
        "STORM (Cutkosky & Orabona, NeurIPS 2019): sum' = sum + |grad|^2, rate = lr (beta + "
        "sum')^(-1/3), moment' = grad + (1 - c rate^2) (moment - grad), param' = param + rate "
        "moment'.")
    .Input(3, "grad", "The gradient, shaped like the parameter.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.");
OPERATOR_SCHEMA(SparseStorm)
    .NumInputs(6)
    .EnforceInplace({{0, 0}, {1, 1}, {2, 2}})
    .FillUsing(Describe)
    .SetDoc("Storm of the rows of a parameter that have a gradient; the others are left alone.")
    .Input(3, "grad", "The gradients, one row for each index.")
    .Input(4, "indices", "int32 or int64: the rows to update.")
    .Input(5, "lr", "The learning rate, a float scalar; negative to descend.");
SHOULD_NOT_DO_GRADIENT(Storm);
SHOULD_NOT_DO_GRADIENT(SparseStorm);

}  // namespace caffe2

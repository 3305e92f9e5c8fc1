// SparseAdam and RowWiseSparseAdam: Adam of the rows that a sparse gradient names.
#include <cmath>

#include "operators/optimizer/adam_op.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

AdamRectification RectifyAdam(const AdamArguments& arguments, int64_t t) {
  const double steps = static_cast<double>(t), beta2 = arguments.beta2;
  const double power = std::pow(beta2, steps), most = 2 / (1 - beta2) - 1;
  const double length = most - 2 * steps * power / (1 - power);
  const double plain = 1 / (1 - std::pow(static_cast<double>(arguments.beta1), steps));
  if (length < 5) return {false, static_cast<float>(plain)};
  const double ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length);
  return {true, static_cast<float>(plain * std::sqrt(1 - power) * std::sqrt(ratio))};
}

namespace {

// kRowWise: the second moment holds one number a row, of the rows' mean squares.
template <class Context, bool kRowWise>
class SparseAdamOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseAdamOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        arguments_(*this),
        rectified_(this->template GetSingleArgument<bool>("enableRAdam", false)) {}

  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &second = Input(MOMENT_2), &grad = Input(GRAD);
    const RowUpdate update = CheckRowUpdate(param, Input(INDICES), grad);
    CheckOptimizerState(param, Input(MOMENT_1), "moment_1");
    CheckStateOfRows<kRowWise>(param, second, "moment_2");
    const AdamFactors factors =
        MakeAdamFactors(arguments_, Input(ITER), *CheckLearningRate(Input(LR)));
    AdamRectification rectification;
    if (rectified_) {
      rectification = RectifyAdam(arguments_, *Input(ITER).template data<int64_t>() + 1);
    }
    const float* g = grad.data<float>();
    float* p = UpdatedData<float>(Output(0));
    float* m1 = UpdatedData<float>(Output(1));
    float* m2 = UpdatedData<float>(Output(2));
    float* step = nullptr;
    if (OutputSize() > 3) {
      Output(3)->ResizeLike(grad);
      step = Output(3)->template mutable_data<float>();
    }
    for (const int64_t row : update.rows) {
      const int64_t at = row * update.width;
      if (kRowWise) {
        UpdateRow(update.width, factors, g, p + at, m1 + at, m2 + row, step);
      } else if (rectified_) {
        RectifiedUpdate(update.width, factors, rectification, g, p + at, m1 + at, m2 + at, step);
      } else {
        AdamUpdate(update.width, factors, p + at, m1 + at, m2 + at, g, p + at, m1 + at, m2 + at,
                   step);
      }
      g += update.width;
      if (step != nullptr) step += update.width;
    }
    return true;
  }

 private:
  enum { PARAM, MOMENT_1, MOMENT_2, INDICES, GRAD, LR, ITER };

  void RectifiedUpdate(int64_t n, const AdamFactors& f, const AdamRectification& r, const float* g,
                       float* p, float* m1, float* m2, float* step) const {
    const float beta1 = arguments_.beta1, beta2 = arguments_.beta2;
    for (int64_t i = 0; i < n; ++i) {
      m1[i] = beta1 * m1[i] + (1 - beta1) * g[i];
      m2[i] = beta2 * m2[i] + (1 - beta2) * g[i] * g[i];
      const float divisor = r.tractable ? std::sqrt(m2[i]) + arguments_.epsilon : 1.f;
      const float by = r.factor * m1[i] / divisor;
      p[i] += f.lr * by;
      if (step != nullptr) step[i] = by;
    }
  }

  void UpdateRow(int64_t n, const AdamFactors& f, const float* g, float* p, float* m1, float* m2,
                 float* step) const {
    const float beta1 = arguments_.beta1, beta2 = arguments_.beta2;
    float squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += g[i] * g[i];
    const float mean = n == 0 ? 0.f : squares / static_cast<float>(n);
    *m2 = beta2 * *m2 + (1 - beta2) * mean;
    const float factor = f.correction / (std::sqrt(*m2) + arguments_.epsilon);
    for (int64_t i = 0; i < n; ++i) {
      m1[i] = beta1 * m1[i] + (1 - beta1) * g[i];
      p[i] += f.lr * factor * m1[i];
      if (step != nullptr) step[i] = factor * m1[i];
    }
  }

  AdamArguments arguments_;
  bool rectified_;
};

void Describe(OpSchema& schema) {
  schema.NumInputs(7)
      .NumOutputs(3, 4)
      .EnforceInplace({{0, 0}, {1, 1}, {2, 2}})
      .InputsCanCrossDevices()
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        std::vector<TensorShape> out{in[0], in[1], in[2]};
        if (def.output_size() > 3) out.push_back(in[4]);
        return out;
      })
      .Arg("beta1", "(float, default 0.9) The share of the first moment that is kept.")
      .Arg("beta2", "(float, default 0.999) The share of the second moment that is kept.")
      .Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
      .Input(0, "param", "The float parameter; updated.")
      .Input(1, "moment_1", "The first moment, shaped like it; updated.")
      .Input(3, "indices", "int32 or int64: the rows to update.")
      .Input(4, "grad", "Their gradients, one row for each index.")
      .Input(5, "lr", "The learning rate, a float scalar; negative to descend.")
      .Input(6, "iter", "The iteration from 0, int64 of one element, on the host.")
      .Output(0, "output_param", "The parameter, in place.")
      .Output(1, "output_moment_1", "The first moment, in place.")
      .Output(2, "output_moment_2", "The second moment, in place.")
      .Output(3, "output_grad", "Optional: what the rate was multiplied with, shaped like grad.");
}

}  // namespace

using SparseAdam = SparseAdamOp<CPUContext, false>;
using RowWiseSparseAdam = SparseAdamOp<CPUContext, true>;
REGISTER_CPU_OPERATOR(SparseAdam, SparseAdam);
REGISTER_CPU_OPERATOR(RowWiseSparseAdam, RowWiseSparseAdam);

OPERATOR_SCHEMA(SparseAdam)
    .FillUsing(Describe)
    .SetDoc(
        "Adam of the rows of a parameter that have a gradient; the moments of the others are not "
        "decayed.")
    .Arg("enableRAdam",
         "(bool, default false) Rectified Adam (Liu et al., 2019): while the variance of the "
         "second moment is not tractable, steps are those of SGD with momentum.")
    .Input(2, "moment_2", "The second moment, shaped like the parameter; updated.");
OPERATOR_SCHEMA(RowWiseSparseAdam)
    .FillUsing(Describe)
    .SetDoc(
        "Adam of the rows of a parameter that have a gradient, with one second moment for each "
        "row, of the mean of grad^2 over the row.")
    .Input(2, "moment_2", "One number for each row of the parameter; updated.");
SHOULD_NOT_DO_GRADIENT(SparseAdam);
SHOULD_NOT_DO_GRADIENT(RowWiseSparseAdam);

}  // namespace caffe2

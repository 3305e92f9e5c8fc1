// SmartDecaySparseAdam: Adam of sparse gradients as if the others were zero, not missing.
#include <cmath>

#include "operators/adam_op.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

class SmartDecaySparseAdamOp final : public Operator<CPUContext> {
 public:
  SmartDecaySparseAdamOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), arguments_(*this) {
    CAFFE_ENFORCE(arguments_.beta1 >= 0 && arguments_.beta1 < 1, "beta1 is ", arguments_.beta1);
  }
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &grad = Input(GRAD);
    const RowUpdate update = CheckRowUpdate(param, Input(INDICES), grad);
    CheckOptimizerState(param, Input(MOMENT_1), "moment_1");
    CheckOptimizerState(param, Input(MOMENT_2), "moment_2");
    CheckRowWiseState(param, Input(LAST_SEEN), "last_seen");
    const float lr = *CheckLearningRate(Input(LR));
    CAFFE_ENFORCE_EQ(Input(ITER).numel(), 1, "iter must be a scalar");
    const int64_t now = *Input(ITER).data<int64_t>() + 1;
    const auto* g = grad.data<float>();
    auto* p = Output(0)->mutable_data<float>();
    auto* m1 = Output(1)->mutable_data<float>();
    auto* m2 = Output(2)->mutable_data<float>();
    auto* last_seen = Output(3)->mutable_data<int64_t>();
    for (const int64_t row : update.rows) {
      const int64_t at = row * update.width;
      UpdateRow(update.width, static_cast<float>(now - last_seen[row]), lr, g, p + at, m1 + at,
                m2 + at);
      last_seen[row] = now;
      g += update.width;
    }
    return true;
  }

 private:
  enum { PARAM, MOMENT_1, MOMENT_2, LAST_SEEN, INDICES, GRAD, LR, ITER };

  // `steps` iterations at once, of which the last has a gradient. In the others the first moment
  // alone moves the row: by the sum of moment_1 beta1^i, for i from 1 to steps - 1, over the root
  // of the second moment as it is now.
  void UpdateRow(int64_t n, float steps, float lr, const float* g, float* p, float* m1,
                 float* m2) const {
    const float beta1 = arguments_.beta1, beta2 = arguments_.beta2;
    const float keep1 = std::pow(beta1, steps), keep2 = std::pow(beta2, steps);
    const float missed = steps > 1 ? beta1 * (1 - std::pow(beta1, steps - 1)) / (1 - beta1) : 0.f;
    for (int64_t i = 0; i < n; ++i) {
      const float caught_up = missed * m1[i];
      m1[i] = keep1 * m1[i] + (1 - beta1) * g[i];
      m2[i] = keep2 * m2[i] + (1 - beta2) * g[i] * g[i];
      p[i] += lr * (m1[i] + caught_up) / (std::sqrt(m2[i]) + arguments_.epsilon);
    }
  }

  const AdamArguments arguments_;
};

REGISTER_CPU_OPERATOR(SmartDecaySparseAdam, SmartDecaySparseAdamOp);
OPERATOR_SCHEMA(SmartDecaySparseAdam)
    .NumInputs(8)
    .NumOutputs(4)
    .EnforceInplace({{0, 0}, {1, 1}, {2, 2}, {3, 3}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1], in[2], in[3]};
    })
    .SetDoc(
        "Adam of the rows of a parameter that have a gradient. The moments of a row decay for all "
        "iterations since it had one last, and the steps that its first moment would have made are "
        "made up for. Moments are not corrected for their bias.")
    .Arg("beta1", "(float in [0, 1), default 0.9) The share of the first moment that is kept.")
    .Arg("beta2", "(float, default 0.999) The share of the second moment that is kept.")
    .Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
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

}  // namespace
}  // namespace caffe2

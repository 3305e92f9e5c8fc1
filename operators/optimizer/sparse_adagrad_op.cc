// SparseAdagrad and RowWiseSparseAdagrad: Adagrad of the rows that a sparse gradient names.
#include <cmath>

#include "operators/optimizer/adagrad_op.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/row_update_check.h"
#include "operators/sparse/gather_op.h"

namespace caffe2 {
namespace {

// kRowWise: the moment holds one number a row, the sum of the rows' mean squares.
template <class Context, bool kRowWise>
class SparseAdagradOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseAdagradOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        arguments_{this->template GetSingleArgument<float>("epsilon", 1e-5f), 1.f,
                   this->template GetSingleArgument<float>("weight_decay", 0.f)},
        counter_halflife_(this->template GetSingleArgument<int64_t>("counter_halflife", -1)) {}

  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &moment = Input(MOMENT), &grad = Input(GRAD);
    CheckStateOfRows<kRowWise>(param, moment, "moment");
    const float lr = *CheckLearningRate(Input(LR));
    const double* counts = nullptr;
    if (InputSize() > COUNTER) {
      CheckRowWiseState(param, Input(COUNTER), "counter");
      counts = Input(COUNTER).template data<double>();
    }
    const float* g = grad.data<float>();
    float* h = UpdatedData<float>(Output(1));
    if (param.template IsType<float16>()) {
      UpdateFloat16(CheckRowGradient(param, Input(INDICES), grad), {nullptr, lr}, counts, g, h);
      return true;
    }
    const RowUpdate update = CheckRowUpdate(param, Input(INDICES), grad);
    float* p = UpdatedData<float>(Output(0));
    for (const int64_t row : update.rows) {
      if (kRowWise) {
        UpdateRow(update.width, lr, WeightDecay(counts, row), g, p + row * update.width, h + row);
      } else {
        float *p_row = p + row * update.width, *h_row = h + row * update.width;
        AdagradUpdate(update.width, arguments_, lr, p_row, h_row, g, p_row, h_row);
      }
      g += update.width;
    }
    return true;
  }

 private:
  enum { PARAM, MOMENT, INDICES, GRAD, LR, COUNTER };

  // A row that is updated seldom decays for the iterations between.
  float WeightDecay(const double* counts, int64_t row) const {
    if (counts == nullptr || counter_halflife_ <= 0 || counts[row] <= 0) {
      return arguments_.weight_decay;
    }
    const double rarity = static_cast<double>(counter_halflife_) / counts[row];
    return static_cast<float>(rarity * arguments_.weight_decay);
  }

  void UpdateFloat16(int64_t width, const Rate& lr, const double* counts, const float* g,
                     float* h) {
    auto* p = UpdatedData<float16>(Output(0));
    const auto& [epsilon, decay, weight_decay] = arguments_;
    const Tensor& indices = Input(INDICES);
    const int64_t rows = Output(0)->size(0);
    if constexpr (kRowWise) {
      UpdateRows(indices, rows,
                 RowWiseAdagradRow<float16>{width, epsilon, weight_decay, lr, g, counts,
                                            static_cast<double>(counter_halflife_), p, h},
                 &context_);
    } else {
      UpdateRows(indices, rows, AdagradRow<float16>{width, epsilon, weight_decay, lr, g, p, h},
                 &context_);
    }
  }

  void UpdateRow(int64_t n, float lr, float weight_decay, const float* g, float* p,
                 float* h) const {
    auto slope = [&](int64_t i) { return g[i] + weight_decay * p[i]; };
    float squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += slope(i) * slope(i);
    *h += n == 0 ? 0.f : squares / static_cast<float>(n);
    const float step = lr / (std::sqrt(*h) + arguments_.epsilon);
    for (int64_t i = 0; i < n; ++i) p[i] += step * slope(i);
  }

  AdagradArguments arguments_;
  int64_t counter_halflife_;
};

void Describe(OpSchema& schema) {
  schema.NumOutputs(2)
      .EnforceOneToOneInplace()
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1]};
      })
      .Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
      .Arg("weight_decay", "(float, default 0) The share of a row that is added to its gradient.")
      .Input(0, "param", "The parameter, float or float16; updated. All else is float.")
      .Input(2, "indices", "int32 or int64: the rows to update.")
      .Input(3, "grad", "Their gradients, one row for each index.")
      .Input(4, "lr", "The learning rate, a float scalar; negative to descend.")
      .Output(0, "output_param", "The parameter, in place.")
      .Output(1, "output_moment_1", "The moment, in place.");
}

}  // namespace

using SparseAdagrad = SparseAdagradOp<CPUContext, false>;
using RowWiseSparseAdagrad = SparseAdagradOp<CPUContext, true>;
REGISTER_CPU_OPERATOR(SparseAdagrad, SparseAdagrad);
REGISTER_CPU_OPERATOR(RowWiseSparseAdagrad, RowWiseSparseAdagrad);

OPERATOR_SCHEMA(SparseAdagrad)
    .NumInputs(5)
    .FillUsing(Describe)
    .SetDoc("Adagrad of the rows of a parameter that have a gradient; the others are left alone.")
    .Input(1, "moment", "The sum of squares, shaped like the parameter; updated.");
OPERATOR_SCHEMA(RowWiseSparseAdagrad)
    .NumInputs(5, 6)
    .FillUsing(Describe)
    .SetDoc(
        "Adagrad of the rows of a parameter that have a gradient, with one rate for each row: "
        "moment[row] += mean(grad^2), param[row] += lr * grad / (sqrt(moment[row]) + epsilon).")
    .Arg("counter_halflife",
         "(int, default -1) With a counter, and if positive: the weight decay of a row is "
         "multiplied with counter_halflife / counter[row].")
    .Input(1, "moment", "One number for each row of the parameter; updated.")
    .Input(5, "counter", "Optional: double, one for each row, as RowWiseCounter counts.");
SHOULD_NOT_DO_GRADIENT(SparseAdagrad);
SHOULD_NOT_DO_GRADIENT(RowWiseSparseAdagrad);

}  // namespace caffe2

#include "operators/elementwise/elementwise_linear_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

template <>
void ScaleColumns(int64_t n, int64_t d, const float* x, const float* w, const float* b, float* y,
                  CPUContext* /*context*/) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < d; ++j) {
      y[i * d + j] = x[i * d + j] * w[j] + (b != nullptr ? b[j] : 0.f);
    }
  }
}
template <>
void SumColumnProducts(int64_t n, int64_t d, const float* x, const float* g, float* sum_gx,
                       float* sum_g, CPUContext* /*context*/) {
  std::fill_n(sum_gx, d, 0.f);
  std::fill_n(sum_g, d, 0.f);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < d; ++j) {
      sum_gx[j] += g[i * d + j] * x[i * d + j];
      sum_g[j] += g[i * d + j];
    }
  }
}

REGISTER_CPU_OPERATOR(ElementwiseLinear, ElementwiseLinearOp<CPUContext>);
REGISTER_CPU_OPERATOR(ElementwiseLinearGradient, ElementwiseLinearGradientOp<CPUContext>);

OPERATOR_SCHEMA(ElementwiseLinear)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Y[i, j] = X[i, j] * w[j] + b[j]: a factor and an offset for each column.")
    .Arg<int>("axis", "(default 1) The rows are the axes before this one, the columns the others.")
    .Input(0, "X", "A float tensor, seen as an N x D matrix.")
    .Input(1, "w", "D float factors.")
    .Input(2, "b", "D float offsets.")
    .Output(0, "Y", "The result, shaped like X.");
OPERATOR_SCHEMA(ElementwiseLinearGradient)
    .NumInputs(3)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[1], in[2], in[2]};
    })
    .SetDoc("The gradients of ElementwiseLinear.")
    .Arg<int>("axis", "As in the forward operator.")
    .Input(0, "dY", "The gradient of the output.")
    .Input(1, "X", "As in the forward operator.")
    .Input(2, "w", "As in the forward operator.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dw", "The gradient of w.")
    .Output(2, "db", "The gradient of b.");
REGISTER_GRADIENT(ElementwiseLinear, GradientRule<"GO0 I0 I1 -> GI0 GI1 GI2">);

}  // namespace caffe2

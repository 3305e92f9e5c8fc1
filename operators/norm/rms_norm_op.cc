#include "operators/norm/rms_norm_op.h"

#include <vector>

#include "operators/common/gradient_rule.h"
#include "operators/common/row_shape.h"

namespace caffe2 {

template <typename T>
void RmsNormParameterGradients(int64_t rows, int64_t size, const T* dy, const T* x,
                               const ArithmeticType<T>* rrms, T* dgamma, T* dbeta,
                               CPUContext* /*context*/) {
  std::vector<double> sums(2 * size, 0.);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < size; ++j) {
      const double g = Widen(dy[i * size + j]);
      sums[j] += g * Widen(x[i * size + j]) * rrms[i];
      sums[size + j] += g;
    }
  }
  for (int64_t j = 0; j < size; ++j) {
    dgamma[j] = Narrow<T>(static_cast<ArithmeticType<T>>(sums[j]));
    dbeta[j] = Narrow<T>(static_cast<ArithmeticType<T>>(sums[size + j]));
  }
}

REGISTER_CPU_OPERATOR(RMSNorm, RmsNormOp<CPUContext>);
REGISTER_CPU_OPERATOR(RMSNormGradient, RmsNormGradientOp<CPUContext>);

OPERATOR_SCHEMA(RMSNorm)
    .NumInputs(3)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const std::vector<int64_t> dims = DimsOfRows(def, in[0]);
      const auto type =
          in[0].data_type() == TensorProto::DOUBLE ? TensorProto::DOUBLE : TensorProto::FLOAT;
      return std::vector<TensorShape>{in[0], CreateTensorShape(dims, type)};
    })
    .SetDoc(
        "Root mean square normalization (Zhang and Sennrich, 2019): Y = gamma * X * rrms + beta, "
        "with rrms = 1 / sqrt(mean(X^2) + eps) over each row.")
    .Arg<int>("axis",
              "(default 1) Axes before this one count the rows; the other axes are their elements.")
    .Arg<float>("eps", "(>= 0, default 0) Added to the mean square.")
    .Input(0, "X", "A tensor of a floating-point type.")
    .Input(1, "gamma", "As large as a row, of X's type.")
    .Input(2, "beta", "As large as a row, of X's type.")
    .Output(0, "Y", "The result, shaped like X.")
    .Output(1, "rrms",
            "The reciprocal root mean square of each row: the axes before `axis`. Float; double "
            "for double.");
OPERATOR_SCHEMA(RMSNormGradient)
    .NumInputs(4)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[1], in[2], in[2]};
    })
    .SetDoc("The gradients of RMSNorm.")
    .Arg<int>("axis", "As in RMSNorm.")
    .Input(0, "dY", "The gradient of Y.")
    .Input(1, "X", "As in RMSNorm.")
    .Input(2, "gamma", "As in RMSNorm.")
    .Input(3, "rrms", "The second output of RMSNorm.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dgamma", "The gradient of gamma.")
    .Output(2, "dbeta", "The gradient of beta.");
REGISTER_GRADIENT(RMSNorm, GradientRule<"GO0 I0 I1 O1 -> GI0 GI1 GI2">);

}  // namespace caffe2

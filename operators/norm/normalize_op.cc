// Normalize, NormalizeL1, LpNorm.
#include "operators/norm/normalize_op.h"

#include <cmath>

#include "operators/common/gradient_rule.h"
#include "operators/norm/lp_norm_op.h"
#include "operators/norm/short_row_sums.h"

namespace caffe2 {

template <>
void SumOfPowers(int p, int64_t n, double factor, const float* x, float* sum, CPUContext* context) {
  const double total = p == 1 ? SumTerms(
                                    n, [x](int64_t i) { return std::fabs(x[i]); }, context)
                              : SumTerms(
                                    n, [x](int64_t i) { return double{x[i]} * x[i]; }, context);
  *sum = static_cast<float>(factor * total);
}

namespace {

CAFFE2_SIMD_CLONES void DivideShortRows(int64_t n, const float* in, float* out) {
  double factors[kShortRowCount];
  ShortRowSums(n, in).Add(factors, [](double x, int64_t) { return x * x; });
  for (double& factor : factors) factor = 1 / L2Norm::OfSquares(factor);
  MapShortRows(n, in, out, [=](float x, int64_t r) { return static_cast<float>(x * factors[r]); });
}

void DescribeNormalize(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .IdenticalTypeAndShape()
      .Arg<int>("axis", "(default -1) The axis of the vectors.")
      .Input(0, "X", "A tensor of float, float16 or bfloat16.")
      .Output(0, "Y", "The result, shaped like X.");
}

void DescribeLpNorm(OpSchema& schema) {
  schema.Arg<int>("p", "(1 or 2, default 2) 1: the sum of absolute values; 2: the sum of squares.")
      .Arg<bool>("average", "(default 0) 1: divides by the number of elements.");
}

}  // namespace

template <class Norm, typename T>
void DivideByNorms(const VectorLayout& v, const T* x, T* y, CPUContext* context) {
  if constexpr (std::is_same_v<Norm, L2Norm>) {
    if (v.stride == 1 && HasShortRows(v.n)) {
      ForShortRows(v.count, v.n, x, y, [=](int64_t, int64_t, const float* in, float* out) {
        DivideShortRows(v.n, in, out);
      });
      return;
    }
  }
  ForEachRow(v.count, v.n, NormalizeVectors<Norm, T>{v, x, y}, context);
}

REGISTER_CPU_OPERATOR(Normalize, NormalizeOp<CPUContext, L2Norm>);
REGISTER_CPU_OPERATOR(NormalizeL1, NormalizeOp<CPUContext, L1Norm>);
REGISTER_CPU_OPERATOR(NormalizeGradient, NormalizeGradientOp<CPUContext>);
REGISTER_CPU_OPERATOR(LpNorm, LpNormOp<CPUContext>);
REGISTER_CPU_OPERATOR(LpNormGradient, LpNormGradientOp<CPUContext>);

OPERATOR_SCHEMA(Normalize)
    .FillUsing(DescribeNormalize)
    .SetDoc("Divides the vectors along an axis by their Euclidean norm (at least 1e-12).");
OPERATOR_SCHEMA(NormalizeL1)
    .FillUsing(DescribeNormalize)
    .SetDoc("Divides the vectors along an axis by the sum of their absolute values; zeros stay.");
OPERATOR_SCHEMA(NormalizeGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of Normalize: dX = (dY - Y (Y . dY)) / |X|.")
    .Arg<int>("axis", "As in the forward operator.")
    .Input(0, "X", "The input of the forward operator.")
    .Input(1, "dY", "The gradient of its output.")
    .Output(0, "dX", "The gradient of X.");
OPERATOR_SCHEMA(LpNorm)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>{CreateTensorShape({1}, TensorProto::FLOAT)};
    })
    .FillUsing(DescribeLpNorm)
    .SetDoc("The sum of |X|^p over all elements; no root is taken.")
    .Input(0, "X", "A float tensor of any shape.")
    .Output(0, "Z", "One float.");
OPERATOR_SCHEMA(LpNormGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(DescribeLpNorm)
    .SetDoc("The gradient of LpNorm.")
    .Input(0, "X", "The input of the forward operator.")
    .Input(1, "dZ", "The gradient of its output.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(Normalize, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(LpNorm, GradientRule<"I0 GO0 -> GI0">);
SHOULD_NOT_DO_GRADIENT(NormalizeL1);

}  // namespace caffe2

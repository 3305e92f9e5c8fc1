// Tanh: the hyperbolic tangent, with the gradient from Y.
#include "caffe2/utils/simd.h"
#include "caffe2/utils/vector_math.h"
#include "operators/activation/activation_op.h"

namespace caffe2 {
namespace {

struct TanhKernel {
  explicit TanhKernel(const OperatorBase&) {}
  CAFFE2_SIMD_CLONES void Forward(int64_t n, const float* x, float* y) const {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = Tanh(x[i]);
  }
  CAFFE2_SIMD_CLONES void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * (1.f - y[i] * y[i]);
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Tanh, CpuActivationOp<TanhKernel>);
REGISTER_CPU_OPERATOR(TanhGradient, CpuActivationGradientOp<TanhKernel>);

OPERATOR_SCHEMA(Tanh)
    .FillUsing(ActivationSchema)
    .SetDoc("The hyperbolic tangent, element by element.");
OPERATOR_SCHEMA(TanhGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of Tanh: dX = dY * (1 - Y * Y).");
REGISTER_GRADIENT(Tanh, GetActivationGradientOfOutput);

}  // namespace caffe2

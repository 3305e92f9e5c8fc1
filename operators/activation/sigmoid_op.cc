// Sigmoid: Y = 1 / (1 + e^-X), with the gradient from Y.
#include "caffe2/utils/simd.h"
#include "caffe2/utils/vector_math.h"
#include "operators/activation/activation_op.h"

namespace caffe2 {
namespace {

struct SigmoidKernel {
  explicit SigmoidKernel(const OperatorBase&) {}
  CAFFE2_SIMD_CLONES void Forward(int64_t n, const float* x, float* y) const {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = Sigmoid(x[i]);
  }
  CAFFE2_SIMD_CLONES void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * y[i] * (1.f - y[i]);
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Sigmoid, CpuActivationOp<SigmoidKernel>);
REGISTER_CPU_OPERATOR(SigmoidGradient, CpuActivationGradientOp<SigmoidKernel>);

OPERATOR_SCHEMA(Sigmoid)
    .FillUsing(ActivationSchema)
    .SetDoc("The logistic function Y = 1 / (1 + exp(-X)), element by element.");
OPERATOR_SCHEMA(SigmoidGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of Sigmoid: dX = dY * Y * (1 - Y).");
REGISTER_GRADIENT(Sigmoid, GetActivationGradientOfOutput);

}  // namespace caffe2

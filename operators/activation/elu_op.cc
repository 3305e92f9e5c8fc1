// Elu: Y = X where X > 0, else alpha (e^X - 1), with the gradient from Y.
#include "caffe2/utils/simd.h"
#include "caffe2/utils/vector_math.h"
#include "operators/activation/activation_op.h"

namespace caffe2 {
namespace {

// Both values are computed before one is chosen: compilers vectorise no branch around a
// multiplication, as it may trap.
struct EluKernel {
  explicit EluKernel(const OperatorBase& op) : alpha(op.GetSingleArgument<float>("alpha", 1.f)) {}
  CAFFE2_SIMD_CLONES void Forward(int64_t n, const float* x, float* y) const {
    const float limit = alpha;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float curve = limit * (Exp(x[i]) - 1.f);
      y[i] = x[i] > 0 ? x[i] : curve;
    }
  }
  CAFFE2_SIMD_CLONES void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    const float limit = alpha;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float scaled = dy[i] * (y[i] + limit);
      dx[i] = y[i] > 0 ? dy[i] : scaled;
    }
  }
  float alpha;
};

}  // namespace

REGISTER_CPU_OPERATOR(Elu, CpuActivationOp<EluKernel>);
REGISTER_CPU_OPERATOR(EluGradient, CpuActivationGradientOp<EluKernel>);

OPERATOR_SCHEMA(Elu)
    .FillUsing(ActivationSchema)
    .SetDoc(
        "The exponential linear unit (Clevert et al., ICLR 2016): Y = X where X > 0, else alpha * "
        "(exp(X) - 1).")
    .Arg("alpha", "(float, default 1) The limit for large negative X is -alpha.");
OPERATOR_SCHEMA(EluGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of Elu: dX = dY where Y > 0, else dY * (Y + alpha).")
    .Arg("alpha", "As in the forward operator.");
REGISTER_GRADIENT(Elu, GetActivationGradientOfOutput);

}  // namespace caffe2

// The functions of activation_functions.h on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/activation/activation_function_op.h"
#include "operators/activation/function_kernels.h"
#include "operators/common/portable_op.h"

namespace caffe2 {
namespace {

template <class F>
struct CudaFunction {
  using Types = RealTypes;
  explicit CudaFunction(const OperatorBase& op) : f(ReadFunction<F>(op)) {}
  template <typename T>
  void operator()(int64_t n, const T* x, T* y, CUDAContext* context) const {
    LaunchFunction(f, n, x, y, context->stream());
  }
  template <typename T>
  void operator()(int64_t n, const T* saved, const T* dy, T* dx, CUDAContext* context) const {
    LaunchFunctionGradient(f, n, saved, dy, dx, context->stream());
  }
  F f;
};
template <class F>
using Forward = ActivationOp<CUDAContext, CudaFunction<F>>;
template <class F>
using Backward = ActivationGradientOp<CUDAContext, CudaFunction<F>>;

REGISTER_CUDA_OPERATOR(Tan, Forward<TanFunction>);
REGISTER_CUDA_OPERATOR(TanGradient, Backward<TanFunction>);
REGISTER_CUDA_OPERATOR(Asin, Forward<AsinFunction>);
REGISTER_CUDA_OPERATOR(AsinGradient, Backward<AsinFunction>);
REGISTER_CUDA_OPERATOR(Acos, Forward<AcosFunction>);
REGISTER_CUDA_OPERATOR(AcosGradient, Backward<AcosFunction>);
REGISTER_CUDA_OPERATOR(Atan, Forward<AtanFunction>);
REGISTER_CUDA_OPERATOR(AtanGradient, Backward<AtanFunction>);
REGISTER_CUDA_OPERATOR(Sinh, Forward<SinhFunction>);
REGISTER_CUDA_OPERATOR(SinhGradient, Backward<SinhFunction>);
REGISTER_CUDA_OPERATOR(Cosh, Forward<CoshFunction>);
REGISTER_CUDA_OPERATOR(CoshGradient, Backward<CoshFunction>);
REGISTER_CUDA_OPERATOR(Log1p, Forward<Log1pFunction>);
REGISTER_CUDA_OPERATOR(Log1pGradient, Backward<Log1pFunction>);
REGISTER_CUDA_OPERATOR(Reciprocal, Forward<ReciprocalFunction>);
REGISTER_CUDA_OPERATOR(ReciprocalGradient, Backward<ReciprocalFunction>);
REGISTER_CUDA_OPERATOR(Rsqrt, Forward<RsqrtFunction>);
REGISTER_CUDA_OPERATOR(RsqrtGradient, Backward<RsqrtFunction>);
REGISTER_CUDA_OPERATOR(Cbrt, Forward<CbrtFunction>);
REGISTER_CUDA_OPERATOR(CbrtGradient, Backward<CbrtFunction>);
REGISTER_CUDA_OPERATOR(Cube, Forward<CubeFunction>);
REGISTER_CUDA_OPERATOR(CubeGradient, Backward<CubeFunction>);
REGISTER_CUDA_OPERATOR(HardSigmoid, Forward<HardSigmoidFunction>);
REGISTER_CUDA_OPERATOR(HardSigmoidGradient, Backward<HardSigmoidFunction>);
REGISTER_CUDA_OPERATOR(ReluN, Forward<ReluNFunction>);
REGISTER_CUDA_OPERATOR(ReluNGradient, Backward<ReluNFunction>);
REGISTER_CUDA_OPERATOR(ThresholdedRelu, Forward<ThresholdedReluFunction>);
REGISTER_CUDA_OPERATOR(ThresholdedReluGradient, Backward<ThresholdedReluFunction>);
REGISTER_CUDA_OPERATOR(Selu, Forward<SeluFunction>);
REGISTER_CUDA_OPERATOR(SeluGradient, Backward<SeluFunction>);
REGISTER_CUDA_OPERATOR(Softsign, Forward<SoftsignFunction>);
REGISTER_CUDA_OPERATOR(SoftsignGradient, Backward<SoftsignFunction>);
REGISTER_CUDA_OPERATOR(Logit, Forward<LogitFunction>);
REGISTER_CUDA_OPERATOR(LogitGradient, Backward<LogitFunction>);
REGISTER_CUDA_OPERATOR(Erf, Forward<ErfFunction>);
REGISTER_CUDA_OPERATOR(ErfGradient, Backward<ErfFunction>);
REGISTER_CUDA_OPERATOR(Gelu, Forward<GeluFunction>);
REGISTER_CUDA_OPERATOR(GeluGradient, Backward<GeluFunction>);

}  // namespace
}  // namespace caffe2

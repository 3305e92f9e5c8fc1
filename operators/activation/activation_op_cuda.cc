// Relu, LeakyRelu, Elu, Sigmoid, Tanh, Softplus on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/activation/activation_kernels.h"
#include "operators/activation/activation_op.h"

namespace caffe2 {
namespace {

using FloatingPoint = TensorTypes<float, float16, bfloat16>;

// Both directions of an activation; alpha as on the CPU.
template <Activation kActivation, class TypeList = FloatingPoint>
struct CudaActivation {
  using Types = TypeList;
  explicit CudaActivation(const OperatorBase& op)
      : alpha(op.GetSingleArgument<float>("alpha", kActivation == Activation::kElu ? 1.f : 0.01f)) {
  }
  template <typename T>
  void operator()(int64_t n, const T* x, T* y, CUDAContext* context) const {
    LaunchActivation(kActivation, alpha, n, x, y, context->stream());
  }
  template <typename T>
  void operator()(int64_t n, const T* y, const T* dy, T* dx, CUDAContext* context) const {
    LaunchActivationGradient(kActivation, alpha, n, y, dy, dx, context->stream());
  }
  float alpha;
};

template <class Function>
using Forward = ActivationOp<CUDAContext, Function>;
template <class Function>
using Backward = ActivationGradientOp<CUDAContext, Function>;

using Relu = CudaActivation<Activation::kRelu, TensorTypes<float, float16, bfloat16, int>>;
using LeakyRelu = CudaActivation<Activation::kLeakyRelu>;
using Elu = CudaActivation<Activation::kElu>;
using Sigmoid = CudaActivation<Activation::kSigmoid>;
using Tanh = CudaActivation<Activation::kTanh>;
using Softplus = CudaActivation<Activation::kSoftplus>;

REGISTER_CUDA_OPERATOR(Relu, Forward<Relu>);
REGISTER_CUDA_OPERATOR(ReluGradient, Backward<Relu>);
REGISTER_CUDA_OPERATOR(LeakyRelu, Forward<LeakyRelu>);
REGISTER_CUDA_OPERATOR(LeakyReluGradient, Backward<LeakyRelu>);
REGISTER_CUDA_OPERATOR(Elu, Forward<Elu>);
REGISTER_CUDA_OPERATOR(EluGradient, Backward<Elu>);
REGISTER_CUDA_OPERATOR(Sigmoid, Forward<Sigmoid>);
REGISTER_CUDA_OPERATOR(SigmoidGradient, Backward<Sigmoid>);
REGISTER_CUDA_OPERATOR(Tanh, Forward<Tanh>);
REGISTER_CUDA_OPERATOR(TanhGradient, Backward<Tanh>);
REGISTER_CUDA_OPERATOR(Softplus, Forward<Softplus>);
REGISTER_CUDA_OPERATOR(SoftplusGradient, Backward<Softplus>);

}  // namespace
}  // namespace caffe2

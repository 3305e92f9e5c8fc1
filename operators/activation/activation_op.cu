#include "caffe2/cuda/kernel.h"
#include "operators/activation/activation_kernels.h"

namespace caffe2 {

// A NaN passes Relu, as on the CPU.
template <typename T>
void LaunchActivation(Activation activation, float alpha, int64_t n, const T* x, T* y,
                      cuda::Stream stream) {
  using A = cuda::Arithmetic<T>;
  if constexpr (std::is_same_v<T, int>) {
    cuda::Map(
        "Relu", n, stream, [] __device__(A v) { return v < 0 ? 0 : v; }, y, x);
  } else {
    switch (activation) {
      case Activation::kRelu:
        return cuda::Map(
            "Relu", n, stream, [] __device__(A v) { return v < 0 ? 0.f : v; }, y, x);
      case Activation::kLeakyRelu:
        return cuda::Map(
            "LeakyRelu", n, stream, [alpha] __device__(A v) { return v > 0 ? v : alpha * v; }, y,
            x);
      case Activation::kElu:
        return cuda::Map(
            "Elu", n, stream, [alpha] __device__(A v) { return v > 0 ? v : alpha * expm1f(v); }, y,
            x);
      case Activation::kSigmoid:
        return cuda::Map(
            "Sigmoid", n, stream, [] __device__(A v) { return 1.f / (1.f + expf(-v)); }, y, x);
      case Activation::kTanh:
        return cuda::Map(
            "Tanh", n, stream, [] __device__(A v) { return tanhf(v); }, y, x);
      case Activation::kSoftplus:
        // max(x, 0) is taken out, so that nothing overflows.
        return cuda::Map(
            "Softplus", n, stream,
            [] __device__(A v) { return (v > 0 ? v : 0.f) + log1pf(expf(-fabsf(v))); }, y, x);
    }
  }
}

template <typename T>
void LaunchActivationGradient(Activation activation, float alpha, int64_t n, const T* y,
                              const T* dy, T* dx, cuda::Stream stream) {
  using A = cuda::Arithmetic<T>;
  if constexpr (std::is_same_v<T, int>) {
    cuda::Map(
        "ReluGradient", n, stream, [] __device__(A v, A d) { return v > 0 ? d : 0; }, dx, y, dy);
  } else {
    switch (activation) {
      case Activation::kRelu:
        return cuda::Map(
            "ReluGradient", n, stream, [] __device__(A v, A d) { return v > 0 ? d : 0.f; }, dx, y,
            dy);
      case Activation::kLeakyRelu:
        return cuda::Map(
            "LeakyReluGradient", n, stream,
            [alpha] __device__(A v, A d) { return v > 0 ? d : alpha * d; }, dx, y, dy);
      case Activation::kElu:
        return cuda::Map(
            "EluGradient", n, stream,
            [alpha] __device__(A v, A d) { return v > 0 ? d : d * (v + alpha); }, dx, y, dy);
      case Activation::kSigmoid:
        return cuda::Map(
            "SigmoidGradient", n, stream, [] __device__(A v, A d) { return d * v * (1.f - v); }, dx,
            y, dy);
      case Activation::kTanh:
        return cuda::Map(
            "TanhGradient", n, stream, [] __device__(A v, A d) { return d * (1.f - v * v); }, dx, y,
            dy);
      case Activation::kSoftplus:
        return cuda::Map(
            "SoftplusGradient", n, stream, [] __device__(A v, A d) { return -d * expm1f(-v); }, dx,
            y, dy);
    }
  }
}

#define INSTANTIATE(T)                                                                          \
  template void LaunchActivation<T>(Activation, float, int64_t, const T*, T*, cuda::Stream);    \
  template void LaunchActivationGradient<T>(Activation, float, int64_t, const T*, const T*, T*, \
                                            cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);
INSTANTIATE(int);

}  // namespace caffe2

// Activations on CUDA devices. Pointers are device memory; x, y, dy and dx may be the same arrays.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

enum class Activation { kRelu, kLeakyRelu, kElu, kSigmoid, kTanh, kSoftplus };

// y = f(x); alpha is the slope of LeakyRelu or the limit of Elu. T: float, float16, bfloat16, and
// int for Relu alone.
template <typename T>
void LaunchActivation(Activation activation, float alpha, int64_t n, const T* x, T* y,
                      cuda::Stream stream);
// dx = dy f'(x), from y = f(x).
template <typename T>
void LaunchActivationGradient(Activation activation, float alpha, int64_t n, const T* y,
                              const T* dy, T* dx, cuda::Stream stream);

}  // namespace caffe2

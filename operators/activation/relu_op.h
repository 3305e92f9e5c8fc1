// Relu: Y = max(X, 0), with the gradient from Y.
#pragma once

#include "operators/activation/activation_op.h"

namespace caffe2 {

template <class Context>
struct ReluFunction {
  using Types = TensorTypes<float, bfloat16, float16, int>;
  explicit ReluFunction(const OperatorBase&) {}
  template <typename T>
  void operator()(int64_t n, const T* x, T* y, Context* context) const;
};

// dX = dY where Y > 0, else 0.
template <class Context>
struct ReluGradientFunction {
  using Types = TensorTypes<float, bfloat16, float16, int>;
  explicit ReluGradientFunction(const OperatorBase&) {}
  template <typename T>
  void operator()(int64_t n, const T* y, const T* dy, T* dx, Context* context) const;
};

}  // namespace caffe2

// Activations that are a function of activation_functions.h.
#pragma once

#include "operators/activation/activation_functions.h"
#include "operators/activation/activation_op.h"

namespace caffe2 {

// The function, with the arguments of an operator; throws for arguments that make no sense. Each
// specialization stands beside the schema of its operator.
template <class F>
F ReadFunction(const OperatorBase& /*op*/) {
  return F();
}
template <>
HardSigmoidFunction ReadFunction(const OperatorBase& op);
template <>
ReluNFunction ReadFunction(const OperatorBase& op);
template <>
ThresholdedReluFunction ReadFunction(const OperatorBase& op);
template <>
SeluFunction ReadFunction(const OperatorBase& op);
template <>
LogitFunction ReadFunction(const OperatorBase& op);
template <>
GeluFunction ReadFunction(const OperatorBase& op);

// On the host.
template <class F>
struct FunctionKernel {
  explicit FunctionKernel(const OperatorBase& op) : f(ReadFunction<F>(op)) {}
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = f.Value(x[i]);
  }
  void Backward(int64_t n, const float* saved, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = f.Gradient(saved[i], dy[i]);
  }
  F f;
};
template <class F>
using CpuFunctionOp = CpuActivationOp<FunctionKernel<F>>;
template <class F>
using CpuFunctionGradientOp = CpuActivationGradientOp<FunctionKernel<F>>;

}  // namespace caffe2

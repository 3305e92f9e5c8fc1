// Launchers of functions of two numbers with broadcasting (binary_op.h). Pointers are device
// memory.
#pragma once

#include "caffe2/cuda/runtime.h"
#include "operators/common/strides.h"

namespace caffe2 {

// c[i] = f(a[..], b[..]) for the n elements of a space: operand 0 is a, operand 1 is b. c may be an
// operand with its shape.
template <class F, typename R, typename A, typename B>
void LaunchMapStrided(const F& f, const Strides& space, int64_t n, cuda::Stream stream, R* c,
                      const A* a, const B* b);

// gradient[e] = the sum of D over the elements of the space that used operand element e. `kept` are
// the dimensions of the operand, `summed` the dimensions along which it was repeated. Operand 0 is
// dc, 1 is a, 2 is b; a and b are read only if D::kReadsOperands.
template <class D, typename T>
void LaunchSumDerivative(const D& derivative, const Strides& kept, const Strides& summed,
                         int64_t kept_count, int64_t summed_count, cuda::Stream stream, T* gradient,
                         const T* dc, const T* a, const T* b);

// Reports a division by zero if one of n divisors is 0. T: int32, int64.
template <typename T>
void LaunchDivisorCheck(int64_t n, const T* b, cuda::KernelReport* report, cuda::Stream stream);

}  // namespace caffe2

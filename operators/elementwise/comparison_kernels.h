// Comparisons, logic and choices on CUDA devices. Pointers are device memory.
#pragma once

#include "operators/elementwise/elementwise_kernels.h"

namespace caffe2 {

enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kAnd, kOr };
// c[i] = a[..] compared with b[..], for the n elements of a space: operand 0 is a, operand 1 is b.
// With `plain` both advance as c does. T: float, double, float16, bfloat16,
// int32, int64, uint8, bool.
template <typename T>
void LaunchCompare(Comparison comparison, const Strides& space, bool plain, int64_t n, const T* a,
                   const T* b, bool* c, cuda::Stream stream);

enum class Bits { kAnd, kOr, kXor };
// c[i] = the bits of a[..] and b[..] combined, in the same way. T: int32, int64, bool.
template <typename T>
void LaunchBits(Bits bits, const Strides& space, int64_t n, const T* a, const T* b, T* c,
                cuda::Stream stream);

void LaunchNot(int64_t n, const bool* x, bool* y, cuda::Stream stream);

// z[i] = condition[i / row] ? x[i] : y[i], for n elements of 1, 2, 4 or 8 bytes.
void LaunchSelect(int64_t n, int64_t row, size_t itemsize, const bool* condition, const void* x,
                  const void* y, void* z, cuda::Stream stream);

}  // namespace caffe2

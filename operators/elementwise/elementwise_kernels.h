// Functions of one or two numbers, element by element, on CUDA devices. Pointers are device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/runtime.h"

namespace caffe2 {

// Dimensions of an index space, outermost first, and what one step along each of them moves three
// operands by. As BroadcastPlan (operators/common/broadcast.h), without what only the host needs.
struct Strides {
  static constexpr int kMaxDims = 8;
  int dims = 0;
  int64_t size[kMaxDims] = {};
  int64_t stride[3][kMaxDims] = {};
};

enum class BinaryFunction {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow  // for floating-point types only
};
// c[i] = f(a[..], b[..]) for the n elements of a space: operand 0 is a, operand 1 is b. With
// `plain` both advance as c does. c may be an operand with its shape. T: float, double, float16,
// bfloat16; int32 and int64 for the first four; a division of integers by zero is reported.
template <typename T>
void LaunchBinary(BinaryFunction function, const Strides& space, bool plain, int64_t n, const T* a,
                  const T* b, T* c, cuda::KernelReport* report, cuda::Stream stream);

enum class Derivative {
  kAddA,
  kAddB,
  kSubB,
  kMulA,
  kMulB,
  kDivA,
  kDivB,
  kDivBOfResult,
  kPowA,
  kPowB
};
// gradient[e] = sum of the derivative over the elements of the space that operand element e was
// used for: `kept` are the dimensions of the operand, `summed` those it was repeated along. Operand
// 0 is dc, 1 is a, 2 is b; they are not read where the derivative does not need them. T: float,
// double, float16, bfloat16.
template <typename T>
void LaunchBinaryGradient(Derivative derivative, const Strides& kept, const Strides& summed,
                          int64_t kept_count, int64_t summed_count, const T* dc, const T* a,
                          const T* b, T* gradient, cuda::Stream stream);

// y = min(max(x, low), high), NaN stays; and dx = dy where low < y < high, else 0. T: float,
// double, float16, bfloat16.
template <typename T>
void LaunchClip(int64_t n, float low, float high, const T* x, T* y, cuda::Stream stream);
template <typename T>
void LaunchClipGradient(int64_t n, float low, float high, const T* y, const T* dy, T* dx,
                        cuda::Stream stream);

// y = scale * x.
template <typename T>
void LaunchScale(int64_t n, float scale, const T* x, T* y, cuda::Stream stream);

// Up to kMostTerms arrays and their weights, which are on the device where the address is not null.
constexpr int kMostTerms = 16;
struct Terms {
  int count = 0;
  const void* x[kMostTerms];
  float weight[kMostTerms];
  const float* weight_address[kMostTerms];
};
// y = sum of the arrays, in their order, in float for 16-bit types; y may be the first of them. T:
// float, double, float16, bfloat16, int32, int64.
template <typename T>
void LaunchSum(int64_t n, const Terms& terms, T* y, cuda::Stream stream);
// y = weighted sum of the arrays. T: float, float16, bfloat16.
template <typename T>
void LaunchWeightedSum(int64_t n, const Terms& terms, T* y, cuda::Stream stream);

// Sets n elements of 1, 2, 4 or 8 bytes to the lowest bytes of `bits`.
void LaunchFill(int64_t n, size_t itemsize, uint64_t bits, void* y, cuda::Stream stream);
// Sets n elements to factor * (the value).
template <typename T>
void LaunchFillFrom(int64_t n, float factor, const T* value, T* y, cuda::Stream stream);

enum class Number {
  kFloat,
  kDouble,
  kFloat16,
  kBFloat16,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16
};
// Converts as Cast does (operators/elementwise/cast_op.h).
void LaunchConvert(int64_t n, Number from, const void* x, Number to, void* y, cuda::Stream stream);

}  // namespace caffe2

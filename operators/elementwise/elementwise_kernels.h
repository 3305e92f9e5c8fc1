// Sums, choices, fills and conversions of arrays on CUDA devices. Pointers are device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/runtime.h"

namespace caffe2 {

// Up to kMaxTerms arrays and their weights. A weight is in device memory if its address is not
// null.
constexpr int kMaxTerms = 16;
struct Terms {
  int count = 0;
  const void* x[kMaxTerms];
  float weight[kMaxTerms];
  const float* weight_address[kMaxTerms];
};
// y = sum of the arrays, in their order, in float for 16-bit types; y may be the first of them. T:
// float, double, float16, bfloat16, int32, int64.
template <typename T>
void LaunchSum(int64_t n, const Terms& terms, T* y, cuda::Stream stream);
// y = weighted sum of the arrays. T: float, float16, bfloat16.
template <typename T>
void LaunchWeightedSum(int64_t n, const Terms& terms, T* y, cuda::Stream stream);

// z[i] = condition[i / row] ? x[i] : y[i], for n elements of 1, 2, 4 or 8 bytes.
void LaunchSelect(int64_t n, int64_t row, size_t itemsize, const bool* condition, const void* x,
                  const void* y, void* z, cuda::Stream stream);

// Sets n elements of 1, 2, 4 or 8 bytes to the lowest bytes of `bits`.
void LaunchFill(int64_t n, size_t itemsize, uint64_t bits, void* y, cuda::Stream stream);
// Sets n elements to factor * *value.
template <typename T>
void LaunchFillFrom(int64_t n, float factor, const T* value, T* y, cuda::Stream stream);

// The element types that LaunchConvert reads and writes.
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

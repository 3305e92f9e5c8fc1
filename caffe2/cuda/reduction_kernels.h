// Sums over parts of arrays on a device, in a fixed order. Pointers are to device memory.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// sums[j] = sum over i < rows of x[i * columns + j]. T: float, float16, bfloat16. `scratch` holds
// ColumnSumScratch(rows, columns) floats.
int64_t ColumnSumScratch(int64_t rows, int64_t columns);
template <typename T>
void LaunchColumnSums(int64_t rows, int64_t columns, const T* x, float* scratch, T* sums,
                      Stream stream);

// y[i * columns + j] = row[j] for i < rows.
template <typename T>
void LaunchRepeatRow(int64_t rows, int64_t columns, const T* row, T* y, Stream stream);

enum class Total { kSum, kSquareSum, kAbsSum };
// *result = scale * (the sum of x, of its squares, or of its absolute values). T: float, double,
// float16, bfloat16, int, int64. `scratch` holds kTotalScratch values: doubles for floating-point
// types, else Ts. Sums are formed in the type of `scratch`.
constexpr int64_t kTotalScratch = 256;
template <typename T>
void LaunchTotal(Total kind, int64_t n, const T* x, double scale, void* scratch, T* result,
                 Stream stream);

}  // namespace caffe2::cuda

// Products of row-major matrices on a device, by cuBLASLt.
#pragma once

#include <cstdint>
#include <tuple>

#include "caffe2/core/type_meta.h"
#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// c_i = alpha op(a_i) op(b_i) + beta c_i, plus the bias in every row if there is one, for i <
// batch. op(a) is m x k, op(b) k x n, c m x n. Matrices of a batch lie `stride` elements apart;
// with stride 0 the batch shares one matrix. Elements are float, float16 or bfloat16; sums are in
// float.
struct MatMulProblem {
  TypeMeta type;
  bool trans_a = false, trans_b = false;
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  int64_t batch = 1;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool has_bias = false;  // n elements of the same type
};

// Computes the products on `stream`, the device's compute stream. Sizes must be positive. Each
// problem and device keeps one algorithm: the first in the order of cuBLASLt's heuristics that
// works. If no algorithm adds the bias, does nothing and returns false; that is logged once.
// Thread-safe. Throws EnforceNotMet with cuBLASLt's status if there is no bias and no algorithm
// works, OutOfMemoryError if the workspace (32 MiB) does not fit, Error for other errors.
bool MatMul(const MatMulProblem& problem, const void* a, const void* b, const void* bias, void* c,
            int device, Stream stream);

// True if float products may use TF32: the environment variable CAFFE2_CUDA_TF32 is 1.
bool AllowTf32();

}  // namespace caffe2::cuda

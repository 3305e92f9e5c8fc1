// Products of row-major matrices on a device, by cuBLASLt.
#pragma once

#include <cstdint>
#include <tuple>

#include "caffe2/core/type_meta.h"
#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// c_i = alpha op(a_i) op(b_i) + beta c_i [+ bias in every row], i < batch; op(a) is m x k, op(b)
// k x n, c m x n. Matrices of a batch lie `stride` elements apart (0: all use the same). Elements
// are float, float16 or bfloat16; sums are formed in float.
struct MatmulProblem {
  TypeMeta type;
  bool trans_a = false, trans_b = false;
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  int64_t batch = 1;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool has_bias = false;  // n elements of the same type
};

// Chooses an algorithm once for each problem and device, and keeps it: the first in the order of
// cuBLASLt's heuristics that works. Returns false, and has done nothing, if there is none that adds
// the bias, which is logged once. Sizes must be positive; `stream` is the device's compute stream.
// Thread-safe. Throws Error with cuBLASLt's status if there is none without a bias either.
bool Matmul(const MatmulProblem& problem, const void* a, const void* b, const void* bias, void* c,
            int device, Stream stream);

// True if float products may use TF32 (environment variable CAFFE2_CUDA_TF32=1).
bool AllowTf32();

}  // namespace caffe2::cuda

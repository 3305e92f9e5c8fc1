// Linear algebra on raw arrays. Matrices are row-major and contiguous. T is float, bfloat16 or, on
// GPUs, float16; sums are formed in float. The context chooses the device; on the host work is done
// when a call returns.
#pragma once

#include <cstdint>

namespace caffe2 {
class PackedFactor;  // onednn_matmul.h
}

namespace caffe2::math {

// c = alpha op(a) op(b) + beta c, where op transposes a matrix if its flag, trans_a or trans_b, is
// true; op(a) is m x k, op(b) k x n, c m x n. If beta is 0, c may be uninitialised. Sizes may be 0.
// Throws EnforceNotMet for what a device cannot do: on the host, a bfloat16 product that is not
// small needs alpha 1 and beta 0 or 1; on GPUs, beta must be 0 if k is 0.
template <typename T, class Context>
void Gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const T* a,
          const T* b, float beta, T* c, Context* context);

// c = op(a) op(b) + bias; the n elements of bias are added to every row.
template <typename T, class Context>
void GemmBias(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const T* a, const T* b,
              const T* bias, T* c, Context* context);

// GemmBias on the host for a matrix b that is constant as PackedFactor::Multiply requires.
// `packed`, if not null, keeps b in the kernel's layout, except for small products.
template <typename T>
void GemmBiasPacked(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const T* a,
                    const T* b, const T* bias, T* c, PackedFactor* packed);

// `batch` products c_i = op(a_i) op(b_i). The matrices lie one after another; with broadcast_a or
// broadcast_b all products share one matrix.
template <typename T, class Context>
void GemmBatched(bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k,
                 const T* a, bool broadcast_a, const T* b, bool broadcast_b, T* c,
                 Context* context);

// sums[j] = sum over i of x[i, j], where x is rows x columns. The host adds in the order of i.
template <typename T, class Context>
void ColumnSums(int64_t rows, int64_t columns, const T* x, T* sums, Context* context);

}  // namespace caffe2::math

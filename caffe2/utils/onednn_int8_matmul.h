// Products of matrices of bytes by oneDNN, without its headers.
#pragma once

#include <cstdint>
#include <vector>

namespace caffe2 {

// The right-hand matrix of products of bytes, in the form in which oneDNN multiplies it.
//
// Products and sums are those of integers, in 32 bits: exact as long as sums fit them, which those
// of 33,000 and fewer products do. Read-only once made; several threads may multiply by it.
class Int8Factor {
 public:
  // op(b) of k x n: b has k rows of n bytes or, if transposed, n rows of k. A byte q stands for
  // q - zero_point. b is copied.
  Int8Factor(bool transposed, int64_t n, int64_t k, const uint8_t* b, uint8_t zero_point);

  // c[i][j] = bias[j] + sum over l of (a[i][l] - a_zero_point) * (op(b)[l][j] - zero_point), for m
  // rows of k bytes a, which begin lda bytes apart, and of n sums c, ldc apart. bias: n values, or
  // null. Throws EnforceNotMet if oneDNN cannot.
  void Multiply(int64_t m, const uint8_t* a, int64_t lda, uint8_t a_zero_point, const int32_t* bias,
                int32_t* c, int64_t ldc) const;

 private:
  const bool transposed_;
  const int64_t n_, k_;
  const int32_t zero_point_;  // less 128, as all of op(b)
  // op(b), as it is or as a sum of two; see the constructor.
  std::vector<std::vector<int8_t>> terms_;
  std::vector<int32_t> column_sums_;  // of op(b) without its zero point
};

}  // namespace caffe2

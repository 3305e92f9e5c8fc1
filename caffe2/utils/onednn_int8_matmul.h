// Products of matrices of bytes by oneDNN. Does not include oneDNN's headers.
#pragma once

#include <cstdint>
#include <vector>

namespace caffe2 {

// The right-hand matrix of products of bytes, in the layout that oneDNN needs.
//
// Products and sums are formed in 32-bit integers: exact as long as the sums fit, which holds for
// up to 33,000 products. Read-only after construction, so several threads may multiply by it.
class Int8Factor {
 public:
  // op(b) is k x n: b has k rows of n bytes or, if transposed, n rows of k bytes. A byte q stands
  // for q - zero_point. Copies b.
  Int8Factor(bool transposed, int64_t n, int64_t k, const uint8_t* b, uint8_t zero_point);

  // c[i][j] = bias[j] + sum over l of (a[i][l] - a_zero_point) * (op(b)[l][j] - zero_point). `a`
  // has m rows of k bytes, lda bytes apart; `c` has m rows of n sums, ldc elements apart. `bias`
  // has n elements or is null. Throws EnforceNotMet if oneDNN fails.
  void Multiply(int64_t m, const uint8_t* a, int64_t lda, uint8_t a_zero_point, const int32_t* bias,
                int32_t* c, int64_t ldc) const;

 private:
  const bool transposed_;
  const int64_t n_, k_;
  const int32_t zero_point_;  // minus 128, like the values of op(b)
  // op(b), or two matrices whose sum is op(b); see the constructor.
  std::vector<std::vector<int8_t>> terms_;
  std::vector<int32_t> column_sums_;  // of op(b) without its zero point
};

}  // namespace caffe2

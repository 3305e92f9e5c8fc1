// Matrix products by oneDNN. Does not include oneDNN's headers.
#pragma once

#include <cstdint>
#include <memory>

namespace caffe2 {

enum class MatMulType { kFloat, kBFloat16 };

// c = op(a) op(b) (+ bias) (+ c), for `batch` products of row-major contiguous matrices that lie
// one after another. op(a) is m x k, op(b) k x n; all sizes are at least 1.
struct MatMulProblem {
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool trans_a = false;
  bool trans_b = false;
  bool broadcast_a = false;  // all products share one matrix a
  bool broadcast_b = false;
  bool has_bias = false;      // n elements, added to every row
  bool accumulate = false;    // adds to the contents of c
  bool float_result = false;  // c is float, whatever the type
  MatMulType type = MatMulType::kFloat;

  friend bool operator==(const MatMulProblem&, const MatMulProblem&) = default;
};

// Computes the products, accumulating in float. Arrays have the problem's type; c may be float. If
// oneDNN does not multiply bfloat16, uses float copies (onednn_float_copies.h). Each thread caches
// primitives by problem, so that a net that runs again builds none. Throws EnforceNotMet with
// oneDNN's text if it fails.
void OneDnnMatMul(const MatMulProblem& problem, const void* a, const void* b, const void* bias,
                  void* c);

// The right-hand matrix of products, converted to the layout that oneDNN's kernel for a problem
// reads fastest. Takes as much memory as the matrix. One thread at a time uses it.
class PackedFactor {
 public:
  PackedFactor();
  ~PackedFactor();

  // Like OneDnnMatMul, for a matrix b that does not change as long as its address stays the same.
  // The caller must not free the last b, because a new matrix could get its address. b is converted
  // in the first call, and again if its address or the layout changes; the layout seldom depends on
  // m. The terms may be added in another order than by OneDnnMatMul. Nothing is kept where the
  // kernel has no layout of its own (AVX2 with oneDNN 2) or oneDNN does not multiply bfloat16.
  void Multiply(const MatMulProblem& problem, const void* a, const void* b, const void* bias,
                void* c);

 private:
  struct Copy;
  std::unique_ptr<Copy> copy_;
};

// c = alpha op(a) op(b) + beta c in float, for the alpha and beta that OneDnnMatMul does not have.
// Throws EnforceNotMet with oneDNN's status if it fails.
void OneDnnSgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                 const float* a, const float* b, float beta, float* c);

}  // namespace caffe2

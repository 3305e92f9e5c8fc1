// caffe2/cuda/matmul.h by plain loops.
#include "caffe2/cuda/matmul.h"

#include "caffe2/core/logging.h"
#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/element_number.h"

namespace caffe2::cuda {
namespace {

template <typename T>
void Multiply(const MatMulProblem& p, const T* a, const T* b, const T* bias, T* c) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < p.k; ++l) {
        sum += static_cast<double>(ToNumber(a[p.trans_a ? l * p.m + i : i * p.k + l])) *
               ToNumber(b[p.trans_b ? j * p.k + l : l * p.n + j]);
      }
      sum *= p.alpha;
      T* to = c + i * p.n + j;
      if (p.beta != 0) sum += p.beta * ToNumber(*to);
      if (p.has_bias) sum += ToNumber(bias[j]);
      StoreNumber(static_cast<float>(sum), to);
    }
  }
}

template <typename T>
void MultiplyAll(const MatMulProblem& p, const void* a, const void* b, const void* bias, void* c) {
  for (int64_t i = 0; i < p.batch; ++i) {
    Multiply(p, static_cast<const T*>(a) + i * p.a_stride,
             static_cast<const T*>(b) + i * p.b_stride, static_cast<const T*>(bias),
             static_cast<T*>(c) + i * p.c_stride);
  }
}

}  // namespace

bool AllowTf32() { return false; }

bool MatMul(const MatMulProblem& problem, const void* a, const void* b, const void* bias, void* c,
            int /*device*/, Stream stream) {
  // Pretends that no algorithm adds the bias, so that the callers' alternative is tested, too.
  if (problem.has_bias && problem.n == 1) return false;
  emulation::Perform(stream, [=] {
    if (problem.type.Match<float>()) {
      MultiplyAll<float>(problem, a, b, bias, c);
    } else if (problem.type.Match<float16>()) {
      MultiplyAll<float16>(problem, a, b, bias, c);
    } else {
      CAFFE_ENFORCE(problem.type.Match<bfloat16>(), "no product of ", problem.type.name());
      MultiplyAll<bfloat16>(problem, a, b, bias, c);
    }
  });
  return true;
}

}  // namespace caffe2::cuda

// caffe2/utils/math.h on CUDA devices. Sizes of zero are handled here, because the libraries do not
// accept them.
#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/matmul.h"
#include "caffe2/cuda/reduction_kernels.h"
#include "caffe2/utils/math.h"

namespace caffe2::math {
namespace {

template <typename T>
void Multiply(cuda::MatMulProblem problem, const T* a, const T* b, const T* bias, T* c,
              CUDAContext* context) {
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return;
  if (problem.k == 0) {
    CAFFE_ENFORCE(bias == nullptr && problem.beta == 0,
                  "a matrix product with k = 0 needs beta = 0 and no bias; beta is ", problem.beta);
    cuda::SetBytesAsync(c, 0, problem.batch * problem.m * problem.n * sizeof(T), context->stream());
    return;
  }
  const auto matmul = [&] {
    return cuda::MatMul(problem, a, b, bias, c, context->device_id(), context->stream());
  };
  if (matmul()) return;
  cuda::LaunchRepeatRow(problem.m, problem.n, bias, c, context->stream());
  problem.has_bias = false;
  problem.beta = 1;
  matmul();
}

}  // namespace

template <typename T, class Context>
void Gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const T* a,
          const T* b, float beta, T* c, Context* context) {
  Multiply<T>({.type = TypeMeta::Make<T>(),
               .trans_a = trans_a,
               .trans_b = trans_b,
               .m = m,
               .n = n,
               .k = k,
               .alpha = alpha,
               .beta = beta},
              a, b, nullptr, c, context);
}

template <typename T, class Context>
void GemmBias(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const T* a, const T* b,
              const T* bias, T* c, Context* context) {
  if (k == 0) {
    cuda::LaunchRepeatRow(m, n, bias, c, context->stream());
    return;
  }
  Multiply<T>({.type = TypeMeta::Make<T>(),
               .trans_a = trans_a,
               .trans_b = trans_b,
               .m = m,
               .n = n,
               .k = k,
               .has_bias = true},
              a, b, bias, c, context);
}

template <typename T, class Context>
void GemmBatched(bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k,
                 const T* a, bool broadcast_a, const T* b, bool broadcast_b, T* c,
                 Context* context) {
  Multiply<T>({.type = TypeMeta::Make<T>(),
               .trans_a = trans_a,
               .trans_b = trans_b,
               .m = m,
               .n = n,
               .k = k,
               .batch = batch,
               .a_stride = broadcast_a ? 0 : m * k,
               .b_stride = broadcast_b ? 0 : k * n,
               .c_stride = m * n},
              a, b, nullptr, c, context);
}

template <typename T, class Context>
void ColumnSums(int64_t rows, int64_t columns, const T* x, T* sums, Context* context) {
  Tensor scratch(context->device());
  scratch.Resize(cuda::ColumnSumScratch(rows, columns));
  cuda::LaunchColumnSums(rows, columns, x, scratch.mutable_data<float>(), sums, context->stream());
}

#define INSTANTIATE(T)                                                                         \
  template void Gemm<T, CUDAContext>(bool, bool, int64_t, int64_t, int64_t, float, const T*,   \
                                     const T*, float, T*, CUDAContext*);                       \
  template void GemmBias<T, CUDAContext>(bool, bool, int64_t, int64_t, int64_t, const T*,      \
                                         const T*, const T*, T*, CUDAContext*);                \
  template void GemmBatched<T, CUDAContext>(bool, bool, int64_t, int64_t, int64_t, int64_t,    \
                                            const T*, bool, const T*, bool, T*, CUDAContext*); \
  template void ColumnSums<T, CUDAContext>(int64_t, int64_t, const T*, T*, CUDAContext*)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2::math

#include "operators/activation/relu_op.h"

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements per thread

// A NaN stays one, as in max.
CAFFE2_SIMD_CLONES void Relu(int64_t n, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
CAFFE2_SIMD_CLONES void Relu(int64_t n, const int* x, int* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
// Both 16-bit formats have the sign in the highest bit: negative values become zero.
CAFFE2_SIMD_CLONES void Relu16(int64_t n, const uint16_t* x, uint16_t* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int16_t>(x[i]) < 0 ? 0 : x[i];
}
void Relu(int64_t n, const bfloat16* x, bfloat16* y) { Relu16(n, &x->x, &y->x); }
void Relu(int64_t n, const float16* x, float16* y) { Relu16(n, &x->x, &y->x); }

// Both operands are read whatever the sign: a load under a condition would become a branch.
CAFFE2_SIMD_CLONES void ReluGradient(int64_t n, const float* y, const float* dy, float* dx) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float gradient = dy[i];
    dx[i] = y[i] > 0 ? gradient : 0;
  }
}
CAFFE2_SIMD_CLONES void ReluGradient(int64_t n, const int* y, const int* dy, int* dx) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
}
CAFFE2_SIMD_CLONES void ReluGradient16(int64_t n, const uint16_t* y, const uint16_t* dy,
                                       uint16_t* dx) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t gradient = dy[i];
    dx[i] = static_cast<int16_t>(y[i]) > 0 ? gradient : 0;
  }
}
void ReluGradient(int64_t n, const bfloat16* y, const bfloat16* dy, bfloat16* dx) {
  ReluGradient16(n, &y->x, &dy->x, &dx->x);
}
void ReluGradient(int64_t n, const float16* y, const float16* dy, float16* dx) {
  ReluGradient16(n, &y->x, &dy->x, &dx->x);
}

}  // namespace

template <>
template <typename T>
void ReluFunction<CPUContext>::operator()(int64_t n, const T* x, T* y, CPUContext*) const {
  ParallelFor(n, kGrain,
              [=](int64_t begin, int64_t end) { Relu(end - begin, x + begin, y + begin); });
}

template <>
template <typename T>
void ReluGradientFunction<CPUContext>::operator()(int64_t n, const T* y, const T* dy, T* dx,
                                                  CPUContext*) const {
  ParallelFor(n, kGrain, [=](int64_t begin, int64_t end) {
    ReluGradient(end - begin, y + begin, dy + begin, dx + begin);
  });
}

REGISTER_CPU_OPERATOR(Relu, ActivationOp<CPUContext, ReluFunction<CPUContext>>);
REGISTER_CPU_OPERATOR(ReluGradient,
                      ActivationGradientOp<CPUContext, ReluGradientFunction<CPUContext>>);

OPERATOR_SCHEMA(Relu)
    .FillUsing(ActivationSchema)
    .SetDoc(
        "The rectifier Y = max(X, 0), element by element; for float, bfloat16, float16 and "
        "int32 tensors. A NaN stays a NaN.")
    .Input(0, "X", "A tensor of any shape.");
OPERATOR_SCHEMA(ReluGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of Relu: dX = dY where Y > 0, else 0.");
REGISTER_GRADIENT(Relu, GetActivationGradientOfOutput);

}  // namespace caffe2

#include "operators/activation/softmax_op.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "caffe2/utils/vector_math.h"
#include "operators/common/short_rows.h"
#include "operators/common/wide_rows.h"

namespace caffe2 {
namespace {

constexpr int64_t kGrain = 1 << 13;  // elements per thread

// Returns log(sum_j exp(x[j])). Subtracts the maximum first, so that nothing overflows.
CAFFE2_SIMD_CLONES float SoftmaxRow(int64_t d, const float* x, float* y) {
  float max = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : max)
  for (int64_t j = 0; j < d; ++j) max = x[j] > max ? x[j] : max;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < d; ++j) {
    y[j] = Exp(x[j] - max);
    sum += y[j];
  }
  const float scale = 1.f / sum;
#pragma omp simd
  for (int64_t j = 0; j < d; ++j) y[j] *= scale;
  return max + std::log(sum);
}

// The same for kShortRowCount rows; a sum and its logarithm only if log_sums is not null.
CAFFE2_SIMD_CLONES void SoftmaxShortRows(int64_t n, const float* in, float* out, float* log_sums) {
  float columns[kShortRowElements], max[kShortRowCount], scale[kShortRowCount];
  double sums[kShortRowCount];
  ToColumns(n, in, columns);
  std::copy_n(columns, kShortRowCount, max);
  for (float* column = columns + kShortRowCount; column < columns + n * kShortRowCount;
       column += kShortRowCount) {
#pragma omp simd
    for (int64_t r = 0; r < kShortRowCount; ++r) max[r] = column[r] > max[r] ? column[r] : max[r];
  }
  for (float* column = columns; column < columns + n * kShortRowCount; column += kShortRowCount) {
#pragma omp simd
    for (int64_t r = 0; r < kShortRowCount; ++r) column[r] = Exp(column[r] - max[r]);
  }
  SumShortRows(n, columns, sums, [](double x, int64_t) { return x; });
  for (int64_t r = 0; r < kShortRowCount; ++r) scale[r] = 1 / static_cast<float>(sums[r]);
  for (float* column = columns; column < columns + n * kShortRowCount; column += kShortRowCount) {
#pragma omp simd
    for (int64_t r = 0; r < kShortRowCount; ++r) column[r] *= scale[r];
  }
  ToRows(n, columns, out);
  for (int64_t r = 0; log_sums != nullptr && r < kShortRowCount; ++r) {
    log_sums[r] = max[r] + std::log(static_cast<float>(sums[r]));
  }
}

// dx = y * (dy - sum_j y[j] dy[j])
CAFFE2_SIMD_CLONES void SoftmaxGradientRow(int64_t d, const float* y, const float* dy, float* dx) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t j = 0; j < d; ++j) dot += y[j] * dy[j];
#pragma omp simd
  for (int64_t j = 0; j < d; ++j) dx[j] = y[j] * (dy[j] - dot);
}

}  // namespace

template <typename T>
void SoftmaxRows(int64_t rows, int64_t d, const T* x, T* y, float* log_sums) {
  if (HasShortRows(d)) {
    ForShortRows(rows, d, x, y, [=](int64_t row, int64_t count, const float* in, float* out) {
      float logs[kShortRowCount];
      SoftmaxShortRows(d, in, out, log_sums != nullptr ? logs : nullptr);
      if (log_sums != nullptr) std::copy_n(logs, count, log_sums + row);
    });
    return;
  }
  ParallelFor(rows, RowGrain(d, kGrain), [=](int64_t begin, int64_t end) {
    WideInput<T> wide_x;
    WideOutput<T> wide_y;
    for (int64_t i = begin; i < end; ++i) {
      const float log_sum = SoftmaxRow(d, wide_x.Row(d, x + i * d), wide_y.Row(d, y + i * d));
      wide_y.Store();
      if (log_sums != nullptr) log_sums[i] = log_sum;
    }
  });
}

template void SoftmaxRows(int64_t, int64_t, const float*, float*, float*);
template void SoftmaxRows(int64_t, int64_t, const bfloat16*, bfloat16*, float*);

template <>
template <typename T>
void SoftmaxOp<CPUContext>::Rows(int64_t rows, int64_t d, const T* x, T* y) {
  SoftmaxRows(rows, d, x, y, nullptr);
}

template <>
template <typename T>
void SoftmaxGradientOp<CPUContext>::Rows(int64_t rows, int64_t d, const T* y, const T* dy, T* dx) {
  ParallelFor(rows, RowGrain(d, kGrain), [=](int64_t begin, int64_t end) {
    WideInput<T> wide_y, wide_dy;
    WideOutput<T> wide_dx;
    for (int64_t i = begin; i < end; ++i) {
      SoftmaxGradientRow(d, wide_y.Row(d, y + i * d), wide_dy.Row(d, dy + i * d),
                         wide_dx.Row(d, dx + i * d));
      wide_dx.Store();
    }
  });
}

REGISTER_CPU_OPERATOR(Softmax, SoftmaxOp<CPUContext>);
REGISTER_CPU_OPERATOR(SoftmaxGradient, SoftmaxGradientOp<CPUContext>);

OPERATOR_SCHEMA(Softmax)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("Y[i, j] = exp(X[i, j]) / sum_k exp(X[i, k]), with X seen as a matrix.")
    .Arg<int>("axis", "(default 1) The rows are the axes before this one, the columns the others.")
    .Input(0, "X", "The logits, a float or bfloat16 tensor; on CUDA devices also float16.")
    .Output(0, "Y", "The probabilities, shaped like X; may overwrite X.");

OPERATOR_SCHEMA(SoftmaxGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .AllowInplace({{1, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of Softmax: dX = Y * (dY - sum over the row of Y * dY).")
    .Arg<int>("axis", "As in Softmax.")
    .Input(0, "Y", "The output of Softmax.")
    .Input(1, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X, shaped like Y; may overwrite dY.");

class GetSoftmaxGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("SoftmaxGradient", "", std::vector{O(0), GO(0)}, std::vector{GI(0)});
  }
};
REGISTER_GRADIENT(Softmax, GetSoftmaxGradient);

}  // namespace caffe2

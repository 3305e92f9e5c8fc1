#include "operators/norm/lrn_op.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/common/wide_rows.h"

namespace caffe2 {
namespace {

constexpr int64_t kLrnGrain = 1 << 13;  // elements per thread

CAFFE2_SIMD_CLONES void AddSquares(int64_t n, const float* x, float* sums) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sums[i] += x[i] * x[i];
}

CAFFE2_SIMD_CLONES void AddTo(int64_t n, const float* x, float* sums) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sums[i] += x[i];
}

// For one image [channels, inner]: calls add(n, x, sums) for the `size` channels around each one
// (fewer at the edges); sums starts at 0.
template <typename Add>
void SumAcrossChannels(int64_t channels, int64_t inner, int size, const float* x, float* sums,
                       const Add& add) {
  std::fill_n(sums, channels * inner, 0.f);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t first = std::max<int64_t>(0, c - size / 2);
    const int64_t last = std::min<int64_t>(channels - 1, c + size / 2);
    for (int64_t other = first; other <= last; ++other) {
      add(inner, x + other * inner, sums + c * inner);
    }
  }
}

// scale = bias + alpha / size * (sum of x^2 over the window)
void ComputeScale(int64_t channels, int64_t inner, int size, float alpha, float bias,
                  const float* x, float* scale) {
  SumAcrossChannels(channels, inner, size, x, scale, AddSquares);
  for (int64_t i = 0; i < channels * inner; ++i) {
    scale[i] = bias + alpha / static_cast<float>(size) * scale[i];
  }
}

}  // namespace

template <>
template <typename T>
bool LrnOp<CPUContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const Layout l = GetLayout(x);
  const int64_t image = l.channels * l.inner;
  const T* x_data = x.data<T>();
  Tensor* y = Output(0);
  Tensor* scale = OutputSize() > 1 ? Output(1) : &own_scale_;
  y->ResizeLike(x);
  scale->ResizeLike(x);
  T *y_data = y->mutable_data<T>(), *scale_data = scale->mutable_data<T>();
  ParallelFor(l.outer, RowGrain(image, kLrnGrain), [&](int64_t begin, int64_t end) {
    WideInput<T> wide_x;
    WideOutput<T> wide_y, wide_scale;
    for (int64_t i = begin; i < end; ++i) {
      const float* from = wide_x.Row(image, x_data + i * image);
      float* factor = wide_scale.Row(image, scale_data + i * image);
      float* to = wide_y.Row(image, y_data + i * image);
      ComputeScale(l.channels, l.inner, size_, alpha_, bias_, from, factor);
      for (int64_t k = 0; k < image; ++k) to[k] = from[k] * std::pow(factor[k], -beta_);
      wide_scale.Store();
      wide_y.Store();
    }
  });
  return true;
}

// dX[c] = scale[c]^-beta dY[c]
//         - 2 alpha beta / size X[c] * (sum of dY Y / scale over the window around c)
template <>
template <typename T>
bool LrnGradientOp<CPUContext>::DoRunWithType() {
  const Tensor &x = Input(0), &y = Input(1), &dy = Input(2);
  const Layout l = GetLayout(x);
  const int64_t image = l.channels * l.inner;
  CAFFE_ENFORCE(y.numel() == x.numel() && dy.numel() == x.numel(),
                "Y and dY must have as many elements as X: Y has shape ", ShapeString(y.sizes()),
                ", dY ", ShapeString(dy.sizes()), ", X ", ShapeString(x.sizes()));
  const T *x_data = x.data<T>(), *y_data = y.data<T>(), *dy_data = dy.data<T>();
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  T* dx_data = dx->mutable_data<T>();
  const float factor = 2 * alpha_ * beta_ / static_cast<float>(size_);
  ParallelFor(l.outer, RowGrain(image, kLrnGrain), [&](int64_t begin, int64_t end) {
    WideInput<T> wide_x, wide_y, wide_dy;
    WideOutput<T> wide_dx;
    std::vector<float> scale(image), ratio(image);
    for (int64_t i = begin; i < end; ++i) {
      const float* from = wide_x.Row(image, x_data + i * image);
      const float* result = wide_y.Row(image, y_data + i * image);
      const float* gradient = wide_dy.Row(image, dy_data + i * image);
      float* to = wide_dx.Row(image, dx_data + i * image);
      ComputeScale(l.channels, l.inner, size_, alpha_, bias_, from, scale.data());
      for (int64_t k = 0; k < image; ++k) ratio[k] = gradient[k] * result[k] / scale[k];
      SumAcrossChannels(l.channels, l.inner, size_, ratio.data(), to, AddTo);
      for (int64_t k = 0; k < image; ++k) {
        to[k] = std::pow(scale[k], -beta_) * gradient[k] - factor * from[k] * to[k];
      }
      wide_dx.Store();
    }
  });
  return true;
}

REGISTER_CPU_OPERATOR(LRN, LrnOp<CPUContext>);
REGISTER_CPU_OPERATOR(LRNGradient, LrnGradientOp<CPUContext>);

namespace {

void Arguments(OpSchema& schema) {
  schema.Arg<int>("size", "(odd and > 0) The number of channels in the window.", true)
      .Arg<float>("alpha", "(> 0) The weight of the window's mean square.", true)
      .Arg<float>("beta", "(> 0) The exponent.", true)
      .Arg<float>("bias", "(default 1) Added to the weighted mean square.")
      .ArgOrder();
}

}  // namespace

OPERATOR_SCHEMA(LRN)
    .NumInputs(1)
    .NumOutputs(1, 2)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(Arguments)
    .SetDoc(
        "Local response normalization across channels (Krizhevsky et al., NIPS 2012): Y = X * "
        "scale ^ -beta, where scale = bias + alpha / size * (sum of X^2 over the window of "
        "channels around the element).")
    .Input(0, "X", "A float or bfloat16 tensor, on CUDA devices also float16, of four axes.")
    .Output(0, "Y", "The result, shaped like X.")
    .Output(1, "scale", "Optional: the scale, shaped like X.");
OPERATOR_SCHEMA(LRNGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(Arguments)
    .SetDoc("The gradient of LRN.")
    .Input(0, "X", "The input of LRN.")
    .Input(1, "Y", "Its output.")
    .Input(2, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X, shaped like it.");

class GetLrnGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("LRNGradient", "", std::vector{I(0), O(0), GO(0)}, std::vector{GI(0)});
  }
};
REGISTER_GRADIENT(LRN, GetLrnGradient);

}  // namespace caffe2

#include "operators/lrn_op.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

constexpr int64_t kGrain = 1 << 13;  // elements per thread

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

int64_t ImageGrain(int64_t image) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, image));
}

}  // namespace

template <>
bool LrnOp<CPUContext>::RunOnDevice() {
  const Tensor& x = Input(0);
  const Layout l = GetLayout(x);
  const int64_t image = l.channels * l.inner;
  const float* x_data = x.data<float>();
  Tensor* y = Output(0);
  Tensor* scale = OutputSize() > 1 ? Output(1) : &own_scale_;
  y->ResizeLike(x);
  scale->ResizeLike(x);
  float *y_data = y->mutable_data<float>(), *scale_data = scale->mutable_data<float>();
  ParallelFor(l.outer, ImageGrain(image), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ComputeScale(l.channels, l.inner, size_, alpha_, bias_, x_data + i * image,
                   scale_data + i * image);
    }
    for (int64_t i = begin * image; i < end * image; ++i) {
      y_data[i] = x_data[i] * std::pow(scale_data[i], -beta_);
    }
  });
  return true;
}

// dX[c] = scale[c]^-beta dY[c]
//         - 2 alpha beta / size X[c] * (sum of dY Y / scale over the window around c)
template <>
bool LrnGradientOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &y = Input(1), &dy = Input(2);
  const Layout l = GetLayout(x);
  const int64_t image = l.channels * l.inner;
  CAFFE_ENFORCE(y.numel() == x.numel() && dy.numel() == x.numel(), "Y ", ShapeString(y.sizes()),
                " and dY ", ShapeString(dy.sizes()), " for X ", ShapeString(x.sizes()));
  const float *x_data = x.data<float>(), *y_data = y.data<float>(), *dy_data = dy.data<float>();
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  scale_.ResizeLike(x);
  ratio_.ResizeLike(x);
  float *dx_data = dx->mutable_data<float>(), *scale = scale_.mutable_data<float>(),
        *ratio = ratio_.mutable_data<float>();
  const float factor = 2 * alpha_ * beta_ / static_cast<float>(size_);
  ParallelFor(l.outer, ImageGrain(image), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ComputeScale(l.channels, l.inner, size_, alpha_, bias_, x_data + i * image,
                   scale + i * image);
    }
    for (int64_t i = begin * image; i < end * image; ++i) {
      ratio[i] = dy_data[i] * y_data[i] / scale[i];
    }
    for (int64_t i = begin; i < end; ++i) {
      SumAcrossChannels(l.channels, l.inner, size_, ratio + i * image, dx_data + i * image, AddTo);
    }
    for (int64_t i = begin * image; i < end * image; ++i) {
      dx_data[i] = std::pow(scale[i], -beta_) * dy_data[i] - factor * x_data[i] * dx_data[i];
    }
  });
  return true;
}

REGISTER_CPU_OPERATOR(LRN, LrnOp<CPUContext>);
REGISTER_CPU_OPERATOR(LRNGradient, LrnGradientOp<CPUContext>);

namespace {

void Arguments(OpSchema& schema) {
  schema.Arg("size", "(int, odd) The number of channels in the window.", true)
      .Arg("alpha", "(float > 0) The weight of the window's mean square.", true)
      .Arg("beta", "(float > 0) The exponent.", true)
      .Arg("bias", "(float, default 1) Added to the weighted mean square.")
      .Arg("order", "(string, default NCHW) NCHW or NHWC.");
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
    .Input(0, "X", "A float tensor of four axes.")
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

// GroupNorm, RMSNorm, AffineChannel and ElementwiseLinear on CUDA devices.
#include "operators/common/channel_kernels.h"
#include "operators/common/portable_cuda.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/elementwise/elementwise_linear_op.h"
#include "operators/norm/affine_channel_op.h"
#include "operators/norm/group_norm_op.h"
#include "operators/norm/rms_norm_op.h"

namespace caffe2 {
namespace {

// Threads that fill a device: columns are cut into parts until there are so many.
constexpr int64_t kColumnThreads = 1 << 17;

// In how many parts `threads` threads that have `length` elements to add up each share the work.
int64_t PartsOf(int64_t threads, int64_t length) {
  constexpr int64_t kLeast = 32;  // elements worth a thread
  const int64_t wanted = kColumnThreads / std::max<int64_t>(1, threads);
  return std::max<int64_t>(1, std::min(wanted, length / kLeast));
}

// Doubles on the device, in rows of `count`.
class DoubleRows {
 public:
  DoubleRows(int64_t rows, int64_t count, CUDAContext* context)
      : count_(count), storage_(context->device()) {
    storage_.Resize(rows, count);
    data_ = storage_.mutable_data<double>();
  }
  double* row(int64_t i) { return data_ + i * count_; }
  ChannelDots dots() { return {row(0), row(1)}; }

 private:
  int64_t count_;
  Tensor storage_;
  double* data_;
};

// The sums of a and a * b over each channel of each image.
template <typename T>
void SumChannels(const GroupLayout& l, const T* a, const T* b, const ChannelDots& dots,
                 CUDAContext* context) {
  const int64_t rows = l.images * l.channels();
  if (l.stride == 1) {
    ForEachRow(rows, l.size, ChannelDotRows<T>{l.size, a, b, dots}, context);
    return;
  }
  const int64_t parts = PartsOf(rows, l.size);
  DoubleRows partial(2, rows * parts, context);
  ForEach(rows * parts, ChannelDotColumns<T>{l.size, l.channels(), parts, a, b, partial.dots()},
          context);
  ForEach(rows, AddChannelDots{l.channels(), parts, partial.dots(), dots}, context);
}

ChannelLayout LayoutOf(const ChannelShape& shape) {
  return {shape.batch, shape.channels, shape.spatial, shape.channels_last};
}

}  // namespace

template <>
template <typename T>
void GroupNormOp<CUDAContext>::Normalize(const GroupLayout& l, const T* x, const float* scale,
                                         const float* bias, float* mean, float* inverse, T* y) {
  const int64_t groups = l.images * l.groups;
  CAFFE_ENFORCE_LE(l.channels(), std::numeric_limits<int32_t>::max(), "channels");
  Tensor own(context_.device());
  own.Resize(2, groups);
  float* moments = own.mutable_data<float>();
  if (mean == nullptr) mean = moments;
  if (inverse == nullptr) inverse = moments + groups;
  DoubleRows sums(2, l.images * l.channels(), &context_);
  SumChannels(l, x, x, sums.dots(), &context_);
  ForEach(groups, GroupMoments{l, this->epsilon(), sums.dots(), mean, inverse}, &context_);
  const GroupRows rows{l};
  const int64_t count = l.images * l.channels() * l.size / std::max<int64_t>(1, rows.width());
  ForEachRow(count, rows.width(), GroupNormRows<T>{rows, x, mean, inverse, scale, bias, y},
             &context_);
}

template <>
template <typename T>
void GroupNormGradientOp<CUDAContext>::Gradients(const GroupLayout& l, const T* dy, const T* x,
                                                 T* dx, float* dgamma, float* dbeta) {
  const float *gamma = Input(2).data<float>(), *mean = Input(4).data<float>(),
              *inverse = Input(5).data<float>();
  const int64_t groups = l.images * l.groups;
  CAFFE_ENFORCE_LE(l.channels(), std::numeric_limits<int32_t>::max(), "channels");
  DoubleRows sums(2, l.images * l.channels(), &context_);
  SumChannels(l, dy, x, sums.dots(), &context_);
  Tensor means(context_.device());
  means.Resize(2, groups);
  float* mean_dy = means.mutable_data<float>();
  float* mean_product = mean_dy + groups;
  ForEach(groups, GroupGradientMeans{l, sums.dots(), mean, inverse, gamma, mean_dy, mean_product},
          &context_);
  ForEach(l.channels(), GroupParameterGradients{l, sums.dots(), mean, inverse, dgamma, dbeta},
          &context_);
  const GroupRows rows{l};
  const int64_t count = l.images * l.channels() * l.size / std::max<int64_t>(1, rows.width());
  ForEachRow(count, rows.width(),
             GroupNormGradientRows<T>{rows, x, dy, mean, inverse, gamma, mean_dy, mean_product, dx},
             &context_);
}

template <typename T>
void RmsNormParameterGradients(int64_t rows, int64_t size, const T* dy, const T* x,
                               const ArithmeticType<T>* rrms, T* dgamma, T* dbeta,
                               CUDAContext* context) {
  const int64_t wanted = PartsOf(size, rows);
  const int64_t rows_per_part = (rows + wanted - 1) / std::max<int64_t>(1, wanted);
  const int64_t parts = rows == 0 ? 0 : (rows + rows_per_part - 1) / rows_per_part;
  DoubleRows partial(2, parts * size, context);
  ForEach(
      parts * size,
      RmsNormPartialSums<T>{rows, size, rows_per_part, dy, x, rrms, partial.row(0), partial.row(1)},
      context);
  ForEach(size, RmsNormAddParts<T>{size, parts, partial.row(0), partial.row(1), dgamma, dbeta},
          context);
}

// y = x * scale + bias, as a normalization of images of mean 0 and deviation 1.
template <typename T>
void ScaleLayout(const ChannelLayout& layout, const T* x, const float* scale, const float* bias,
                 T* y, CUDAContext* context) {
  Tensor constants(context->device());
  constants.Resize(2, layout.channels);
  float* zeros = constants.mutable_data<float>();
  float* ones = zeros + layout.channels;
  const float one = 1;
  uint32_t bits;
  std::memcpy(&bits, &one, sizeof(bits));
  LaunchFill(layout.channels, sizeof(float), 0, zeros, context->stream());
  LaunchFill(layout.channels, sizeof(float), bits, ones, context->stream());
  LaunchBatchNormApply<T>(layout, x, zeros, ones, false, 0, scale, bias != nullptr ? bias : zeros,
                          nullptr, false, y, context->stream());
}
template <typename T>
void SumLayoutProducts(const ChannelLayout& layout, const T* x, const T* g, float* sum_gx,
                       float* sum_g, CUDAContext* context) {
  Tensor scratch(context->device());
  scratch.Resize(BatchNormScratch(layout));
  LaunchChannelProducts<T>(layout, x, g, nullptr, nullptr, scratch.mutable_data<float>(), sum_g,
                           sum_gx, context->stream());
}

template <typename T>
void ScaleChannels(const ChannelShape& shape, const T* x, const float* scale, const float* bias,
                   T* y, CUDAContext* context) {
  ScaleLayout(LayoutOf(shape), x, scale, bias, y, context);
}
template <typename T>
void SumChannelProducts(const ChannelShape& shape, const T* x, const T* g, float* sum_gx,
                        float* sum_g, CUDAContext* context) {
  SumLayoutProducts(LayoutOf(shape), x, g, sum_gx, sum_g, context);
}

template <>
void ScaleColumns(int64_t n, int64_t d, const float* x, const float* w, const float* b, float* y,
                  CUDAContext* context) {
  ScaleLayout({n, d, 1, true}, x, w, b, y, context);
}
template <>
void SumColumnProducts(int64_t n, int64_t d, const float* x, const float* g, float* sum_gx,
                       float* sum_g, CUDAContext* context) {
  SumLayoutProducts({n, d, 1, true}, x, g, sum_gx, sum_g, context);
}

REGISTER_CUDA_OPERATOR(GroupNorm, GroupNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(GroupNormGradient, GroupNormGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RMSNorm, RmsNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RMSNormGradient, RmsNormGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AffineChannel, AffineChannelOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AffineChannelGradient, AffineChannelGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ElementwiseLinear, ElementwiseLinearOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ElementwiseLinearGradient, ElementwiseLinearGradientOp<CUDAContext>);

}  // namespace caffe2

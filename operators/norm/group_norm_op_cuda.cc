// GroupNorm and its gradient on CUDA devices.
#include <limits>

#include "operators/norm/column_sums_cuda.h"
#include "operators/norm/group_norm_op.h"

namespace caffe2 {
namespace {

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

}  // namespace

template <>
template <typename T>
void GroupNormOp<CUDAContext>::Normalize(const GroupLayout& l, const T* x, const float* scale,
                                         const float* bias, float* mean, float* inverse, T* y) {
  const int64_t groups = l.images * l.groups;
  CAFFE_ENFORCE(l.channels() <= std::numeric_limits<int32_t>::max(), "X has ", l.channels(),
                " channels, more than ", std::numeric_limits<int32_t>::max());
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
  CAFFE_ENFORCE(l.channels() <= std::numeric_limits<int32_t>::max(), "X has ", l.channels(),
                " channels, more than ", std::numeric_limits<int32_t>::max());
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

REGISTER_CUDA_OPERATOR(GroupNorm, GroupNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(GroupNormGradient, GroupNormGradientOp<CUDAContext>);

}  // namespace caffe2

// Convolutions fused with batch normalization on CUDA devices, by cuDNN's fused engines or as
// parts.
#include "caffe2/cuda/fused_convolution.h"
#include "operators/conv/conv_gradients_cuda.h"
#include "operators/conv/conv_op_cuda.h"
#include "operators/conv/norm_conv_op.h"

namespace caffe2 {

// Factors and shifts of bn_params in the image's type.
struct NormCopies {
  explicit NormCopies(const Device& device) : x(device), z(device) {}
  Tensor x, z;
};

template <>
struct NormConvDevice<CUDAContext>::State {
  PreparedConv conv;
  StorageOrder order;

  ChannelShape ShapeOf(const Tensor& x) const {
    const ImageShape image = ImageShape::FromDims(x.sizes(), order);
    return {image.batch, image.channels, image.SpatialSize(), order == StorageOrder::kNHWC};
  }
};

template <>
NormConvDevice<CUDAContext>::NormConvDevice(const OperatorDef& def)
    : state_(new State{PreparedConv(def), ReadStorageOrder(ArgumentHelper(def))}) {}

namespace {

using ImageTypes = TensorTypes<float, float16, bfloat16>;

// Calls f with a null pointer to the type of the image's elements; returns its result.
template <class F>
struct TypeCaller {
  const F& f;
  template <typename T>
  bool DoRunWithType() {
    return f(static_cast<const T*>(nullptr));
  }
};
template <class F>
bool WithTypeOf(const Tensor& image, const F& f) {
  TypeCaller<F> caller{f};
  return ImageTypes::Dispatch(&caller, image.dtype());
}

float* Resize(int64_t n, Tensor* tensor) {
  tensor->Resize(n);
  return tensor->mutable_data<float>();
}

// The rows of `bn_params`, with factor and shift also as T, in `copy`.
template <typename T>
cuda::BatchNormFactors FactorsOf(const Tensor& bn_params, int64_t channels, Tensor* copy,
                                 CUDAContext* context) {
  const auto row = [&](int r) { return BnParamsRowOf(bn_params, kBnParamsRows, r, channels); };
  copy->Resize(2 * channels);
  T* converted = copy->mutable_data<T>();
  static_assert(kShiftRow == kFactorRow + 1);
  LaunchConvert(2 * channels, Number::kFloat, row(kFactorRow), kNumberOf<T>, converted,
                context->stream());
  return {.factor = converted,
          .shift = converted + channels,
          .mean = row(kMeanRow),
          .inverse_std = row(kInverseStdRow),
          .scale = row(kScaleRow),
          .bias = row(kBiasRow)};
}

// The normalization before a convolution. Factors and shifts are in the copies.
template <typename T>
cuda::NormedInput NormedBy(const NormedImage& image, int64_t channels, NormCopies* copies,
                           CUDAContext* context) {
  cuda::NormedInput by;
  by.factors = FactorsOf<T>(*image.bn_params, channels, &copies->x, context);
  if (image.z != nullptr) by.z = image.z->data<T>();
  if (image.z_bn_params != nullptr) {
    by.z_factors = FactorsOf<T>(*image.z_bn_params, channels, &copies->z, context);
  }
  return by;
}

// Allocates the sums of a gradient. `scratch` must live as long as they do.
cuda::NormSums SumsIn(Tensor* d_bn_params, int64_t channels, Tensor* scratch) {
  float* sums = ResizeBnParams(kBnParamsGradientRows, channels, d_bn_params);
  return {sums + kDScaleRow * channels, sums + kDBiasRow * channels, Resize(3 * channels, scratch)};
}

}  // namespace

template <>
void NormConvDevice<CUDAContext>::Normalize(const NormedImage& image, Tensor* y,
                                            CUDAContext* context) {
  CheckLike(image.x, image.z, "Z");
  const ChannelShape shape = state_->ShapeOf(image.x);
  const auto row = [&](int r) {
    return BnParamsRowOf(*image.bn_params, kBnParamsRows, r, shape.channels);
  };
  y->ResizeLike(image.x);
  WithTypeOf(image.x, [&]<typename T>(const T* none) {
    LaunchBatchNormApply(shape, image.x.data<T>(), row(kMeanRow), row(kInverseStdRow),
                         /*is_variance=*/false, 0, row(kScaleRow), row(kBiasRow),
                         image.z != nullptr ? image.z->data<T>() : none, /*relu=*/true,
                         y->mutable_data<T>(), context->stream());
    return true;
  });
}

template <>
void NormConvDevice<CUDAContext>::MaskGradient(const NormedImage& image, const Tensor& y,
                                               const Tensor& dy, Tensor* g, Tensor* d_bn_params,
                                               CUDAContext* context) {
  const ChannelShape shape = state_->ShapeOf(image.x);
  const auto row = [&](int r) {
    return BnParamsRowOf(*image.bn_params, kBnParamsRows, r, shape.channels);
  };
  g->ResizeLike(image.x);
  float* sums = ResizeBnParams(kBnParamsGradientRows, shape.channels, d_bn_params);
  Tensor scratch(context->device());
  WithTypeOf(image.x, [&]<typename T>(const T*) {
    BatchNormGradient<T> in;
    in.x = image.x.data<T>();
    in.y = y.data<T>();
    in.dy = dy.data<T>();
    in.scale = row(kScaleRow);
    in.mean = row(kMeanRow);
    in.spread = row(kInverseStdRow);
    in.dz = g->mutable_data<T>();
    in.dscale = sums + kDScaleRow * shape.channels;
    in.dbias = sums + kDBiasRow * shape.channels;
    LaunchBatchNormGradient(shape, in, Resize(BatchNormScratch(shape), &scratch),
                            context->stream());
    return true;
  });
}

template <>
bool NormConvDevice<CUDAContext>::Forward(const NormedImage& image, const Tensor& filter, Tensor* y,
                                          Tensor* sums, Tensor* square_sums, Tensor* normed,
                                          CUDAContext* context) {
  PreparedConv& conv = state_->conv;
  conv.Prepare(image.x, filter);
  if (conv.empty() || !cuda::MayFuseNorm(conv.problem())) return false;
  CheckLike(image.x, image.z, "Z");
  y->Resize(conv.y_dims());
  if (normed != nullptr) normed->ResizeLike(image.x);
  const int64_t filters = conv.y_channels().channels;
  float *sum = Resize(filters, sums), *square_sum = Resize(filters, square_sums);
  Tensor filter_copy(context->device());
  NormCopies copies(context->device());
  return WithTypeOf(image.x, [&]<typename T>(const T*) {
    cuda::NormedInput by;
    if (image.bn_params != nullptr) by = NormedBy<T>(image, conv.problem().x[1], &copies, context);
    if (normed != nullptr) by.normed = normed->mutable_data<T>();
    const T *x = image.x.data<T>(), *filter_data = As<T>(filter, &filter_copy, context);
    const int device = context->device_id();
    const cuda::Stream stream = context->stream();
    if (image.bn_params != nullptr) {
      return cuda::ConvolveWithStats(conv.problem(), &by, x, filter_data, y->mutable_data<T>(), sum,
                                     square_sum, device, stream);
    }
    const CudnnOperands in(conv, x, filter_data, device, stream);
    return cuda::ConvolveWithStats(in.problem(), nullptr, in.x(), in.filter(), y->mutable_data<T>(),
                                   sum, square_sum, device, stream);
  });
}

template <>
bool NormConvDevice<CUDAContext>::Backward(const NormedImage& image, const Tensor& filter,
                                           const Tensor& dy, const Tensor* normed,
                                           const Tensor* also, const NormConvGradients& to,
                                           CUDAContext* context) {
  PreparedConv& conv = state_->conv;
  conv.Prepare(image.x, filter);
  CAFFE_ENFORCE(dy.sizes() == conv.y_dims(), "dY must have the shape of Y, ",
                ShapeString(conv.y_dims()), "; found ", ShapeString(dy.sizes()));
  if (conv.empty() || !cuda::MayFuseNorm(conv.problem())) return false;
  if (normed != nullptr && also == nullptr) return false;  // engines add it
  const int64_t channels = conv.problem().x[1];
  to.g->ResizeLike(image.x);
  to.dfilter->ResizeLike(filter);
  Tensor filter_copy(context->device()), scratch(context->device()), z_scratch(context->device());
  NormCopies copies(context->device());
  return WithTypeOf(image.x, [&]<typename T>(const T*) {
    const cuda::NormedInput by = NormedBy<T>(image, channels, &copies, context);
    cuda::NormedInputGradient gradient;
    if (also != nullptr) gradient.also = also->data<T>();
    gradient.g = to.g->mutable_data<T>();
    gradient.sums = SumsIn(to.d_bn_params, channels, &scratch);
    if (to.dz_bn_params != nullptr) gradient.z_sums = SumsIn(to.dz_bn_params, channels, &z_scratch);
    ConvGradientResult<T> d_filter(to.dfilter, conv.GradientType(filter));
    const int device = context->device_id();
    const cuda::Stream stream = context->stream();
    const auto form_filter_gradient = [&] {
      return d_filter.Compute(device, stream, [&](T* result) {
        if (normed == nullptr) {
          return cuda::ConvolveNormedBackwardFilter(conv.problem(), by, image.x.data<T>(),
                                                    dy.data<T>(), result, device, stream);
        }
        ConvFilterGradient(conv.problem(), normed->data<T>(), dy.data<T>(), result, device, stream);
        return true;
      });
    };
    return cuda::ConvolveNormedBackwardData(conv.problem(), by, image.x.data<T>(),
                                            As<T>(filter, &filter_copy, context), dy.data<T>(),
                                            gradient, device, stream) &&
           form_filter_gradient();
  });
}

namespace {

using PlainConvStats = ConvStatsOp<CUDAContext, NormPrologue::kNone>;
using NormReluConvStats = ConvStatsOp<CUDAContext, NormPrologue::kNormRelu>;
using NormSumReluConvStats = ConvStatsOp<CUDAContext, NormPrologue::kNormSumRelu>;
using NormReluConvStatsGradient = NormConvStatsGradientOp<CUDAContext, NormPrologue::kNormRelu>;
using NormSumReluConvStatsGradient =
    NormConvStatsGradientOp<CUDAContext, NormPrologue::kNormSumRelu>;
using NormSumNormReluConvStats = ConvStatsOp<CUDAContext, NormPrologue::kNormSumNormRelu>;
using NormSumNormReluConvStatsGradient =
    NormConvStatsGradientOp<CUDAContext, NormPrologue::kNormSumNormRelu>;
REGISTER_CUDA_OPERATOR(ConvStats, PlainConvStats);
REGISTER_CUDA_OPERATOR(NormReluConvStats, NormReluConvStats);
REGISTER_CUDA_OPERATOR(NormReluConvStatsGradient, NormReluConvStatsGradient);
REGISTER_CUDA_OPERATOR(NormSumReluConvStats, NormSumReluConvStats);
REGISTER_CUDA_OPERATOR(NormSumReluConvStatsGradient, NormSumReluConvStatsGradient);
REGISTER_CUDA_OPERATOR(NormSumNormReluConvStats, NormSumNormReluConvStats);
REGISTER_CUDA_OPERATOR(NormSumNormReluConvStatsGradient, NormSumNormReluConvStatsGradient);

}  // namespace
}  // namespace caffe2

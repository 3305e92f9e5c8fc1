// SpatialBN, its fused forms and their gradients on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/common/channel_kernels.h"
#include "operators/norm/spatial_bn_op.h"

namespace caffe2 {
namespace {

using ImageTypes = TensorTypes<float, float16, bfloat16>;

ChannelLayout LayoutOf(const Tensor& x, StorageOrder order) {
  const ChannelShape shape = ChannelShape::Make(x.sizes(), order);
  return {shape.batch, shape.channels, shape.spatial, shape.channels_last};
}

float* ResizeScratch(const ChannelLayout& layout, Tensor* scratch) {
  scratch->Resize(BatchNormScratch(layout));
  return scratch->mutable_data<float>();
}

template <BatchNormEpilogue kEpilogue>
class CudaSpatialBNOp final : public SpatialBNForwardBase<CUDAContext> {
 public:
  CudaSpatialBNOp(const OperatorDef& def, Workspace* ws)
      : SpatialBNForwardBase<CUDAContext>(def, ws, kEpilogue) {}

  bool RunOnDevice() override { return ImageTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const ChannelShape shape = ChannelShape::Make(x.sizes(), order_);
    const ChannelLayout layout = LayoutOf(x, order_);
    const float *scale = ChannelInput(1, shape), *bias = ChannelInput(2, shape);
    const float *mean = ChannelInput(3, shape), *spread = ChannelInput(4, shape);
    const T* z = Addend<T>(x);
    if (!is_test_) {
      ComputeStatistics<T>(shape, layout, x);
      mean = Output(3)->template data<float>();
      spread = Output(4)->template data<float>();
    }
    Tensor* y = Output(0);
    y->ResizeLike(x);
    LaunchBatchNormApply(layout, x.data<T>(), mean, spread, is_test_, epsilon_, scale, bias, z,
                         kEpilogue != BatchNormEpilogue::kNone, y->template mutable_data<T>(),
                         context_.stream());
    return true;
  }

 private:
  template <typename T>
  void ComputeStatistics(const ChannelShape& shape, const ChannelLayout& layout, const Tensor& x) {
    BatchNormStatistics to;
    to.epsilon = epsilon_;
    to.momentum = momentum_;
    to.count = static_cast<double>(shape.PerChannel()) * num_batches_;
    to.saved_mean = ChannelOutput(3, shape);
    to.saved_inverse_std = ChannelOutput(4, shape);
    to.running_mean = ChannelOutput(1, shape);
    to.running_variance = ChannelOutput(2, shape);
    if (to.count == 0) {  // an empty batch has no statistics
      const size_t bytes = shape.channels * sizeof(float);
      cuda::SetBytesAsync(to.saved_mean, 0, bytes, context_.stream());
      cuda::SetBytesAsync(to.saved_inverse_std, 0, bytes, context_.stream());
      return;
    }
    if (sums_are_given_) {
      to.sums = ChannelInput(sums_, shape);
      to.square_sums = ChannelInput(sums_ + 1, shape);
    }
    Tensor scratch(context_.device());
    LaunchBatchNormStatistics(layout, x.data<T>(), to, ResizeScratch(layout, &scratch),
                              context_.stream());
  }
};

template <BatchNormEpilogue kEpilogue>
class CudaSpatialBNGradientOp final : public SpatialBNOpBase<CUDAContext> {
 public:
  CudaSpatialBNGradientOp(const OperatorDef& def, Workspace* ws)
      : SpatialBNOpBase<CUDAContext>(def, ws),
        multi_batch_(!is_test_ && kAt.sum_dscale >= 0 && InputSize() == 7) {
    CAFFE_ENFORCE(multi_batch_ || num_batches_ == 1, "num_batches is ", num_batches_,
                  ", but the sums over the batches are no inputs");
  }

  bool RunOnDevice() override { return ImageTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &dy = Input(kAt.dy);
    CAFFE_ENFORCE(dy.sizes() == x.sizes(), "dY has shape ", ShapeString(dy.sizes()), ", X ",
                  ShapeString(x.sizes()));
    const ChannelShape shape = ChannelShape::Make(x.sizes(), order_);
    const ChannelLayout layout = LayoutOf(x, order_);
    BatchNormGradient<T> in;
    in.x = x.data<T>();
    in.dy = dy.data<T>();
    in.scale = ChannelInput(kAt.scale, shape);
    in.mean = ChannelInput(kAt.mean, shape);
    in.spread = ChannelInput(kAt.inverse_std, shape);
    in.is_variance = is_test_;
    in.epsilon = epsilon_;
    in.num_batches = num_batches_;
    if constexpr (kAt.bias >= 0) in.bias = ChannelInput(kAt.bias, shape);
    if constexpr (kAt.y >= 0) SetMask(Input(kAt.y), x, &in);
    if (multi_batch_) {
      in.sum_dscale = ChannelInput(kAt.sum_dscale, shape);
      in.sum_dbias = ChannelInput(kAt.sum_dscale + 1, shape);
    }
    in.dscale = ChannelOutput(1, shape);
    in.dbias = ChannelOutput(2, shape);
    Output(0)->ResizeLike(x);
    in.dx = Output(0)->template mutable_data<T>();
    Tensor scratch(context_.device());
    LaunchBatchNormGradient(layout, in, ResizeScratch(layout, &scratch), context_.stream());
    return true;
  }

 private:
  static constexpr BatchNormGradientInputs kAt = kBatchNormGradientInputs<kEpilogue>;

  template <typename T>
  void SetMask(const Tensor& y, const Tensor& x, BatchNormGradient<T>* in) {
    CAFFE_ENFORCE(y.sizes() == x.sizes(), "Y has shape ", ShapeString(y.sizes()));
    in->y = y.data<T>();
    Tensor* dz = Output(3);
    dz->ResizeLike(y);
    in->dz = dz->template mutable_data<T>();
  }

  const bool multi_batch_;
};

using Plain = CudaSpatialBNOp<BatchNormEpilogue::kNone>;
using WithRelu = CudaSpatialBNOp<BatchNormEpilogue::kRelu>;
using WithSumRelu = CudaSpatialBNOp<BatchNormEpilogue::kSumRelu>;
using PlainGradient = CudaSpatialBNGradientOp<BatchNormEpilogue::kNone>;
using ReluGradient = CudaSpatialBNGradientOp<BatchNormEpilogue::kRelu>;
using SumReluGradient = CudaSpatialBNGradientOp<BatchNormEpilogue::kSumRelu>;

REGISTER_CUDA_OPERATOR(SpatialBN, Plain);
REGISTER_CUDA_OPERATOR(SpatialBNRelu, WithRelu);
REGISTER_CUDA_OPERATOR(SpatialBNSumRelu, WithSumRelu);
REGISTER_CUDA_OPERATOR(SpatialBNGradient, PlainGradient);
REGISTER_CUDA_OPERATOR(SpatialBNReluGradient, ReluGradient);
REGISTER_CUDA_OPERATOR(SpatialBNSumReluGradient, SumReluGradient);

}  // namespace
}  // namespace caffe2

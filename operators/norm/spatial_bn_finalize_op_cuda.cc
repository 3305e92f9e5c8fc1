// SpatialBNFinalize and its gradient on CUDA devices.
#include "operators/norm/channel_scratch_cuda.h"
#include "operators/norm/spatial_bn_finalize_op.h"

namespace caffe2 {
namespace {

class CudaSpatialBNFinalizeOp final : public SpatialBNFinalizeBase<CUDAContext> {
 public:
  using SpatialBNFinalizeBase::SpatialBNFinalizeBase;

  bool RunOnDevice() override {
    const ChannelShape shape = ChannelShapeOf(Input(0).sizes(), order_);
    float* bn_params = ResizeBnParams(kBnParamsRows, shape.channels, Output(1));
    BatchNormStatistics to;
    to.epsilon = epsilon_;
    to.momentum = momentum_;
    to.count = static_cast<double>(shape.PerChannel());
    to.sums = ChannelInput(1, shape);
    to.square_sums = ChannelInput(2, shape);
    to.saved_mean = bn_params + kMeanRow * shape.channels;
    to.saved_inverse_std = bn_params + kInverseStdRow * shape.channels;
    const float *scale = ChannelInput(3, shape), *bias = ChannelInput(4, shape);
    ChannelInput(5, shape);
    ChannelInput(6, shape);
    to.running_mean = ChannelOutput(2, shape);
    to.running_variance = ChannelOutput(3, shape);
    if (to.count == 0) {  // an empty batch has no statistics
      cuda::SetBytesAsync(bn_params, 0, 2 * shape.channels * sizeof(float), context_.stream());
    } else {
      LaunchBatchNormStatistics<float>(shape, nullptr, to, nullptr, context_.stream());
    }
    LaunchBnParams(shape.channels, scale, bias, bn_params, context_.stream());
    return true;
  }
};

class CudaSpatialBNFinalizeGradientOp final : public SpatialBNOpBase<CUDAContext> {
 public:
  using SpatialBNOpBase::SpatialBNOpBase;

  bool RunOnDevice() override {
    return TensorTypes<float, float16, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &g = Input(2);
    CAFFE_ENFORCE(g.sizes() == x.sizes(), "g must have the shape of X: g has shape ",
                  ShapeString(g.sizes()), ", X ", ShapeString(x.sizes()));
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
    const auto row = [&](int r) {
      return BnParamsRowOf(Input(1), kBnParamsRows, r, shape.channels);
    };
    BatchNormGradient<T> in;
    in.x = x.data<T>();
    in.dy = g.data<T>();
    in.scale = row(kScaleRow);
    in.mean = row(kMeanRow);
    in.spread = row(kInverseStdRow);
    in.sum_dscale = BnParamsRowOf(Input(3), kBnParamsGradientRows, kDScaleRow, shape.channels);
    in.sum_dbias = BnParamsRowOf(Input(3), kBnParamsGradientRows, kDBiasRow, shape.channels);
    in.dscale = ChannelOutput(1, shape);
    in.dbias = ChannelOutput(2, shape);
    Output(0)->ResizeLike(x);
    in.dx = Output(0)->template mutable_data<T>();
    Tensor scratch(context_.device());
    scratch.Resize(BatchNormScratch(shape));
    LaunchBatchNormGradient(shape, in, scratch.mutable_data<float>(), context_.stream());
    return true;
  }
};

REGISTER_CUDA_OPERATOR(SpatialBNFinalize, CudaSpatialBNFinalizeOp);
REGISTER_CUDA_OPERATOR(SpatialBNFinalizeGradient, CudaSpatialBNFinalizeGradientOp);

}  // namespace
}  // namespace caffe2

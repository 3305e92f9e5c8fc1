// The gradients of SpatialBN and of its fused forms on CUDA devices.
#include "operators/activation/activation_types.h"
#include "operators/norm/channel_scratch_cuda.h"
#include "operators/norm/spatial_bn_op.h"

namespace caffe2 {
namespace {

template <BatchNormEpilogue kEpilogue>
class CudaSpatialBNGradientOp final : public SpatialBNOpBase<CUDAContext> {
 public:
  CudaSpatialBNGradientOp(const OperatorDef& def, Workspace* ws)
      : SpatialBNOpBase<CUDAContext>(def, ws),
        multi_batch_(!is_test_ && kAt.sum_dscale >= 0 && InputSize() == 7) {
    CAFFE_ENFORCE(multi_batch_ || num_batches_ == 1, "num_batches is ", num_batches_,
                  ", but the sums over the batches are not given as inputs");
  }

  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &dy = Input(kAt.dy);
    CAFFE_ENFORCE(dy.sizes() == x.sizes(), "dY must have the shape of X: dY has shape ",
                  ShapeString(dy.sizes()), ", X ", ShapeString(x.sizes()));
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
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
    LaunchBatchNormGradient(shape, in, ResizeScratch(shape, &scratch), context_.stream());
    return true;
  }

 private:
  static constexpr BatchNormGradientInputs kAt = kBatchNormGradientInputs<kEpilogue>;

  template <typename T>
  void SetMask(const Tensor& y, const Tensor& x, BatchNormGradient<T>* in) {
    CAFFE_ENFORCE(y.sizes() == x.sizes(), "Y must have the shape of X: Y has shape ",
                  ShapeString(y.sizes()), ", X ", ShapeString(x.sizes()));
    in->y = y.data<T>();
    Tensor* dz = Output(3);
    dz->ResizeLike(y);
    in->dz = dz->template mutable_data<T>();
  }

  const bool multi_batch_;
};

REGISTER_CUDA_OPERATOR(SpatialBNGradient, CudaSpatialBNGradientOp<BatchNormEpilogue::kNone>);
REGISTER_CUDA_OPERATOR(SpatialBNReluGradient, CudaSpatialBNGradientOp<BatchNormEpilogue::kRelu>);
REGISTER_CUDA_OPERATOR(SpatialBNSumReluGradient,
                       CudaSpatialBNGradientOp<BatchNormEpilogue::kSumRelu>);

}  // namespace
}  // namespace caffe2

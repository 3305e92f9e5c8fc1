// SpatialBN and its fused forms on CUDA devices.
#include "operators/activation/activation_types.h"
#include "operators/norm/channel_scratch_cuda.h"
#include "operators/norm/spatial_bn_op.h"

namespace caffe2 {
namespace {

template <BatchNormEpilogue kEpilogue>
class CudaSpatialBNOp final : public SpatialBNForwardBase<CUDAContext> {
 public:
  CudaSpatialBNOp(const OperatorDef& def, Workspace* ws)
      : SpatialBNForwardBase<CUDAContext>(def, ws, kEpilogue) {}

  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
    const float *scale = ChannelInput(1, shape), *bias = ChannelInput(2, shape);
    const float *mean = ChannelInput(3, shape), *spread = ChannelInput(4, shape);
    const T* z = Addend<T>(x);
    if (!is_test_) {
      ComputeStatistics<T>(shape, x);
      mean = Output(3)->template data<float>();
      spread = Output(4)->template data<float>();
    }
    Tensor* y = Output(0);
    y->ResizeLike(x);
    LaunchBatchNormApply(shape, x.data<T>(), mean, spread, is_test_, epsilon_, scale, bias, z,
                         kEpilogue != BatchNormEpilogue::kNone, y->template mutable_data<T>(),
                         context_.stream());
    return true;
  }

 private:
  template <typename T>
  void ComputeStatistics(const ChannelShape& shape, const Tensor& x) {
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
    LaunchBatchNormStatistics(shape, x.data<T>(), to, ResizeScratch(shape, &scratch),
                              context_.stream());
  }
};

REGISTER_CUDA_OPERATOR(SpatialBN, CudaSpatialBNOp<BatchNormEpilogue::kNone>);
REGISTER_CUDA_OPERATOR(SpatialBNRelu, CudaSpatialBNOp<BatchNormEpilogue::kRelu>);
REGISTER_CUDA_OPERATOR(SpatialBNSumRelu, CudaSpatialBNOp<BatchNormEpilogue::kSumRelu>);

}  // namespace
}  // namespace caffe2

// ChannelStats and ChannelBackpropStats on CUDA devices.
#include "operators/activation/activation_types.h"
#include "operators/norm/channel_scratch_cuda.h"

namespace caffe2 {
namespace {

// Sums over channels for batch normalization over several batches: X -> sum, sumsq, or with
// kBackprop X, mean, inv_std, dY -> sum of dY (X - mean) inv_std, sum of dY.
template <bool kBackprop>
class CudaChannelStatsOp final : public Operator<CUDAContext> {
 public:
  CudaChannelStatsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), order_(ReadStorageOrder(ArgumentHelper(def))) {}

  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &g = Input(kBackprop ? 3 : 0);
    CAFFE_ENFORCE(g.sizes() == x.sizes(), "dY must have the shape of X: dY has shape ",
                  ShapeString(g.sizes()), ", X ", ShapeString(x.sizes()));
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
    const float *mean = nullptr, *inverse_std = nullptr;
    if (kBackprop) {
      mean = ChannelInput(1, shape);
      inverse_std = ChannelInput(2, shape);
    }
    for (int i = 0; i < 2; ++i) Output(i)->Resize(shape.channels);
    Tensor scratch(context_.device());
    // The sum of dY comes second there, and the sum of X first here.
    LaunchChannelProducts(
        shape, x.data<T>(), g.data<T>(), mean, inverse_std, ResizeScratch(shape, &scratch),
        Output(kBackprop ? 1 : 0)->template mutable_data<float>(),
        Output(kBackprop ? 0 : 1)->template mutable_data<float>(), context_.stream());
    return true;
  }

 private:
  const float* ChannelInput(int i, const ChannelShape& shape) const {
    CAFFE_ENFORCE(Input(i).numel() == shape.channels, "input ", i, " (", debug_def().input(i),
                  ") must have one value for each of the ", shape.channels, " channels, found ",
                  Input(i).numel());
    return Input(i).template data<float>();
  }

  const StorageOrder order_;
};

REGISTER_CUDA_OPERATOR(ChannelStats, CudaChannelStatsOp<false>);
REGISTER_CUDA_OPERATOR(ChannelBackpropStats, CudaChannelStatsOp<true>);

}  // namespace
}  // namespace caffe2

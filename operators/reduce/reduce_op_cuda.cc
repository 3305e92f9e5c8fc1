// Reductions on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/reduction_kernels.h"
#include "operators/common/channel_kernels.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/norm/spatial_bn_kernels.h"
#include "operators/reduce/reduce_cuda.h"
#include "operators/reduce/reduce_front_back_op.h"
#include "operators/reduce/reduce_kernels.h"
#include "operators/reduce/reduce_op.h"

namespace caffe2 {
template <typename T>
void ReduceGradientTo(Reduction reduction, const BroadcastPlan& plan, int64_t count, const T* dy,
                      const T* x, const T* y, T* dx, CUDAContext* context) {
  LaunchReduceGradient(reduction, StridesOf(plan), plan.numel, count, dy, x, y, dx,
                       context->stream());
}

static SideLayout LayoutOf(const ReduceSideLayout& layout, const int32_t* lengths) {
  return {layout.results, layout.count, layout.result_stride, layout.stride, lengths};
}

template <typename T>
void ReduceSideTo(Reduction reduction, const ReduceSideLayout& layout, const int32_t* lengths,
                  const T* x, T* y, CUDAContext* context) {
  LaunchReduceSide(reduction, LayoutOf(layout, lengths), x, y, context->stream());
}

template <typename T>
void ReduceSideGradientTo(Reduction reduction, const ReduceSideLayout& layout,
                          const int32_t* lengths, const T* dy, const T* x, const T* y, T* dx,
                          CUDAContext* context) {
  LaunchReduceSideGradient(reduction, LayoutOf(layout, lengths), dy, x, y, dx, context->stream());
}

namespace {

// One number of a whole tensor.
template <cuda::Total kTotal, class Types>
class CudaElementsOp final : public Operator<CUDAContext> {
 public:
  CudaElementsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), average_(GetSingleArgument<bool>("average", false)) {}

  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->Resize();
    Tensor scratch(context_.device());
    scratch.Resize(cuda::kTotalScratch);
    const double scale = average_ && X.numel() > 0 ? 1.0 / static_cast<double>(X.numel()) : 1.0;
    cuda::LaunchTotal(kTotal, X.numel(), x, scale, scratch.mutable_data<double>(),
                      Y->template mutable_data<T>(), context_.stream());
    return true;
  }

 private:
  bool average_;
};

class CudaSumElementsGradientOp final : public Operator<CUDAContext> {
 public:
  CudaSumElementsGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), average_(GetSingleArgument<bool>("average", false)) {}

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(1).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &dY = Input(1);
    CAFFE_ENFORCE_EQ(dY.numel(), 1, "the gradient of a sum must have one element");
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    const float factor = average_ && X.numel() > 0 ? 1.f / static_cast<float>(X.numel()) : 1.f;
    LaunchFillFrom(X.numel(), factor, dY.data<T>(), dX->template mutable_data<T>(),
                   context_.stream());
    return true;
  }

 private:
  bool average_;
};

using ImageTypes = TensorTypes<float, float16, bfloat16>;

// Sums over channels for batch normalization over several batches: X -> sum, sumsq, or with
// kBackprop X, mean, inv_std, dY -> sum of dY (X - mean) inv_std, sum of dY.
template <bool kBackprop>
class CudaChannelStatsOp final : public Operator<CUDAContext> {
 public:
  CudaChannelStatsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), order_(ReadStorageOrder(ArgumentHelper(def))) {}

  bool RunOnDevice() override { return ImageTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &g = Input(kBackprop ? 3 : 0);
    CAFFE_ENFORCE(g.sizes() == x.sizes(), "dY has shape ", ShapeString(g.sizes()), ", X ",
                  ShapeString(x.sizes()));
    const ChannelShape shape = ChannelShape::Make(x.sizes(), order_);
    const ChannelLayout layout{shape.batch, shape.channels, shape.spatial, shape.channels_last};
    const float *mean = nullptr, *inverse_std = nullptr;
    if (kBackprop) {
      mean = ChannelInput(1, shape);
      inverse_std = ChannelInput(2, shape);
    }
    for (int i = 0; i < 2; ++i) Output(i)->Resize(shape.channels);
    Tensor scratch(context_.device());
    scratch.Resize(BatchNormScratch(layout));
    // The sum of dY comes second there, and the sum of X first here.
    LaunchChannelProducts(
        layout, x.data<T>(), g.data<T>(), mean, inverse_std, scratch.mutable_data<float>(),
        Output(kBackprop ? 1 : 0)->template mutable_data<float>(),
        Output(kBackprop ? 0 : 1)->template mutable_data<float>(), context_.stream());
    return true;
  }

 private:
  const float* ChannelInput(int i, const ChannelShape& shape) const {
    CAFFE_ENFORCE_EQ(Input(i).numel(), shape.channels, "input ", i, " (", debug_def().input(i),
                     ") needs one value a channel");
    return Input(i).data<float>();
  }

  const StorageOrder order_;
};

#define REGISTER_CUDA_REDUCE(name, kind)                                \
  REGISTER_CUDA_OPERATOR(name, ReduceOp<CUDAContext, Reduction::kind>); \
  REGISTER_CUDA_OPERATOR(name##Gradient, ReduceGradientOp<CUDAContext, Reduction::kind>)
REGISTER_CUDA_REDUCE(ReduceSum, kSum);
REGISTER_CUDA_REDUCE(ReduceMean, kMean);
REGISTER_CUDA_REDUCE(ReduceMax, kMax);
REGISTER_CUDA_REDUCE(ReduceMin, kMin);
REGISTER_CUDA_REDUCE(ReduceL1, kL1);
REGISTER_CUDA_REDUCE(ReduceL2, kL2);

#define REGISTER_CUDA_REDUCE_SIDE(name, side, kind)                                     \
  REGISTER_CUDA_OPERATOR(name, ReduceSideOp<CUDAContext, Side::side, Reduction::kind>); \
  REGISTER_CUDA_OPERATOR(name##Gradient,                                                \
                         ReduceSideGradientOp<CUDAContext, Side::side, Reduction::kind>)
REGISTER_CUDA_REDUCE_SIDE(ReduceFrontSum, kFront, kSum);
REGISTER_CUDA_REDUCE_SIDE(ReduceFrontMean, kFront, kMean);
REGISTER_CUDA_REDUCE_SIDE(ReduceFrontMax, kFront, kMax);
REGISTER_CUDA_REDUCE_SIDE(ReduceBackSum, kBack, kSum);
REGISTER_CUDA_REDUCE_SIDE(ReduceBackMean, kBack, kMean);
REGISTER_CUDA_REDUCE_SIDE(ReduceBackMax, kBack, kMax);

using SumElements = CudaElementsOp<cuda::Total::kSum, FloatTypes>;
using SumElementsInt = CudaElementsOp<cuda::Total::kSum, IntegerTypes>;
using SumSqrElements = CudaElementsOp<cuda::Total::kSquareSum, FloatTypes>;
REGISTER_CUDA_OPERATOR(SumElements, SumElements);
REGISTER_CUDA_OPERATOR(SumElementsInt, SumElementsInt);
REGISTER_CUDA_OPERATOR(SumSqrElements, SumSqrElements);
REGISTER_CUDA_OPERATOR(SumElementsGradient, CudaSumElementsGradientOp);
REGISTER_CUDA_OPERATOR(ChannelStats, CudaChannelStatsOp<false>);
REGISTER_CUDA_OPERATOR(ChannelBackpropStats, CudaChannelStatsOp<true>);

}  // namespace
}  // namespace caffe2

// Reductions on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/reduction_kernels.h"
#include "operators/channel_kernels.h"
#include "operators/elementwise_kernels.h"
#include "operators/reduce_kernels.h"
#include "operators/reduce_op.h"
#include "operators/spatial_bn_kernels.h"

namespace caffe2 {
namespace {

void AddDimension(int64_t size, int64_t x_stride, int64_t y_stride, Strides* space) {
  space->size[space->dims] = size;
  space->stride[0][space->dims] = x_stride;
  space->stride[1][space->dims++] = y_stride;
}

template <Reduction kReduction>
class CudaReduceOp final : public Operator<CUDAContext> {
 public:
  CudaReduceOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), axes_(ArgumentHelper(debug_def())) {}

  bool RunOnDevice() override {
    return TensorTypes<float, int32_t, int64_t, double>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), axes_.KeptShape(X.sizes()));
    Strides kept, summed;
    for (int d = 0; d < plan.dims; ++d) {
      AddDimension(plan.size[d], plan.a_stride[d], 0, plan.b_stride[d] != 0 ? &kept : &summed);
    }
    Tensor* Y = Output(0);
    Y->Resize(axes_.OutputShape(X.sizes()));
    const int64_t count = Y->numel() == 0 ? 0 : X.numel() / Y->numel();
    CAFFE_ENFORCE(
        !std::is_integral_v<T> || kReduction != Reduction::kMean || count > 0 || Y->numel() == 0,
        "the mean of no integers");
    LaunchReduce(kReduction, kept, summed, Y->numel(), count, x, Y->template mutable_data<T>(),
                 context_.stream());
    return true;
  }

 private:
  ReduceAxes axes_;
};

// dY, X, Y -> dX.
template <Reduction kReduction>
class CudaReduceGradientOp final : public Operator<CUDAContext> {
 public:
  CudaReduceGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), axes_(ArgumentHelper(debug_def())) {}

  bool RunOnDevice() override {
    return TensorTypes<float, double>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1), &Y = Input(2);
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), axes_.KeptShape(X.sizes()));
    CAFFE_ENFORCE(dY.sizes() == axes_.OutputShape(X.sizes()) && Y.numel() == dY.numel(),
                  "the gradient's shape ", ShapeString(dY.sizes()),
                  " is not that of the reduction of ", ShapeString(X.sizes()));
    Strides space;
    for (int d = 0; d < plan.dims; ++d) {
      AddDimension(plan.size[d], plan.a_stride[d], plan.b_stride[d], &space);
    }
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    const int64_t count = dY.numel() == 0 ? 0 : X.numel() / dY.numel();
    LaunchReduceGradient(kReduction, space, X.numel(), count, dY.data<T>(), X.data<T>(),
                         Y.data<T>(), dX->template mutable_data<T>(), context_.stream());
    return true;
  }

 private:
  ReduceAxes axes_;
};

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

#define REGISTER_CUDA_REDUCE(name, kind)                       \
  REGISTER_CUDA_OPERATOR(name, CudaReduceOp<Reduction::kind>); \
  REGISTER_CUDA_OPERATOR(name##Gradient, CudaReduceGradientOp<Reduction::kind>)
REGISTER_CUDA_REDUCE(ReduceSum, kSum);
REGISTER_CUDA_REDUCE(ReduceMean, kMean);
REGISTER_CUDA_REDUCE(ReduceMax, kMax);
REGISTER_CUDA_REDUCE(ReduceMin, kMin);
REGISTER_CUDA_REDUCE(ReduceL1, kL1);
REGISTER_CUDA_REDUCE(ReduceL2, kL2);

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

// Expand, SumReduceLike, Glu, Swish, Mish, ReplaceNaN, LpNorm, and what is known of a tensor
// without its values, on CUDA devices.
#include "caffe2/cuda/host_values.h"
#include "caffe2/cuda/reduction_kernels.h"
#include "operators/activation/glu_op.h"
#include "operators/activation/swish_op.h"
#include "operators/common/optimizer_cuda.h"
#include "operators/common/portable_cuda.h"
#include "operators/elementwise/replace_nan_op.h"
#include "operators/norm/lp_norm_op.h"
#include "operators/reduce/reduce_cuda.h"
#include "operators/reduce/sum_reduce_like_op.h"
#include "operators/shape/expand_op.h"
#include "operators/shape/shape_op.h"
#include "operators/shape/transpose_kernels.h"

namespace caffe2 {

template <typename T>
void RepeatElements(const BroadcastPlan& plan, const T* x, T* y, CUDAContext* context) {
  Permutation strides;
  strides.dims = plan.dims;
  std::copy_n(plan.size.begin(), plan.dims, strides.size);
  std::copy_n(plan.a_stride.begin(), plan.dims, strides.stride);
  LaunchPermute(strides, plan.numel, sizeof(T), x, y, context->stream());
}

template <>
void SumOfPowers(int p, int64_t n, double factor, const float* x, float* sum,
                 CUDAContext* context) {
  Tensor scratch(context->device());
  scratch.Resize(cuda::kTotalScratch);
  cuda::LaunchTotal(p == 1 ? cuda::Total::kAbsSum : cuda::Total::kSquareSum, n, x, factor,
                    scratch.mutable_data<double>(), sum, context->stream());
}

namespace {

template <class Gate>
using Gated = GatedOp<CUDAContext, Gate>;
template <class Gate>
using GatedGradient = GatedGradientOp<CUDAContext, Gate>;
template <class F>
using CudaSizeOp = SizeOp<CUDAContext, F>;

class CudaFreeOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    if (cuda::RecordedHostValues() != nullptr) throw Error("it empties blobs");
    for (Blob* blob : Outputs()) blob->Reset();
    return true;
  }
};

REGISTER_CUDA_OPERATOR(Expand, ExpandOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ExpandGradient, ExpandGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SumReduceLike, SumReduceLikeOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Glu, GluOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Swish, Gated<SwishGate>);
REGISTER_CUDA_OPERATOR(SwishGradient, GatedGradient<SwishGate>);
REGISTER_CUDA_OPERATOR(Mish, Gated<MishGate>);
REGISTER_CUDA_OPERATOR(MishGradient, GatedGradient<MishGate>);
REGISTER_CUDA_OPERATOR(ReplaceNaN, ReplaceNaNOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LpNorm, LpNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LpNormGradient, LpNormGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Shape, ShapeOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Size, CudaSizeOp<SizeFunctor>);
REGISTER_CUDA_OPERATOR(IsEmpty, CudaSizeOp<IsEmptyFunctor>);
REGISTER_CUDA_OPERATOR(HasElements, HasElementsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Free, CudaFreeOp);

}  // namespace
}  // namespace caffe2

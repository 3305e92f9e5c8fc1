// Normalize, NormalizeL1, NormalizeGradient, LpNorm and its gradient on CUDA devices.
#include "caffe2/cuda/reduction_kernels.h"
#include "operators/common/host_device_cuda.h"
#include "operators/common/rate_input_cuda.h"
#include "operators/norm/lp_norm_op.h"
#include "operators/norm/normalize_op.h"

namespace caffe2 {

template <>
void SumOfPowers(int p, int64_t n, double factor, const float* x, float* sum,
                 CUDAContext* context) {
  Tensor scratch(context->device());
  scratch.Resize(cuda::kTotalScratch);
  cuda::LaunchTotal(p == 1 ? cuda::Total::kAbsSum : cuda::Total::kSquareSum, n, x, factor,
                    scratch.mutable_data<double>(), sum, context->stream());
}

REGISTER_CUDA_OPERATOR(Normalize, NormalizeOp<CUDAContext, L2Norm>);
REGISTER_CUDA_OPERATOR(NormalizeL1, NormalizeOp<CUDAContext, L1Norm>);
REGISTER_CUDA_OPERATOR(NormalizeGradient, NormalizeGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LpNorm, LpNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LpNormGradient, LpNormGradientOp<CUDAContext>);

}  // namespace caffe2

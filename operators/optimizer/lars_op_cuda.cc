// Lars on CUDA devices.
#include "caffe2/cuda/reduction_kernels.h"
#include "operators/common/host_device_cuda.h"
#include "operators/common/rate_input_cuda.h"
#include "operators/optimizer/lars_op.h"

namespace caffe2 {

template <>
void SumOfSquares(int64_t n, const float* x, float* sum, CUDAContext* context) {
  Tensor scratch(context->device());
  scratch.Resize(cuda::kTotalScratch);
  cuda::LaunchTotal(cuda::Total::kSquareSum, n, x, 1.0, scratch.mutable_data<double>(), sum,
                    context->stream());
}

REGISTER_CUDA_OPERATOR(Lars, LarsOp<CUDAContext>);

}  // namespace caffe2

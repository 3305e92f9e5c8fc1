// UpsampleBilinear and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/image/upsample_bilinear_op.h"

namespace caffe2 {

template <typename T>
static void SumShares(const BilinearGradientRows<T>& gradient, int64_t planes,
                      CUDAContext* context) {
  ForEachRow(planes * gradient.rows.input, gradient.columns.input, gradient, context);
}

REGISTER_CUDA_OPERATOR(UpsampleBilinear, UpsampleBilinearOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UpsampleBilinearGradient, UpsampleBilinearGradientOp<CUDAContext>);

}  // namespace caffe2

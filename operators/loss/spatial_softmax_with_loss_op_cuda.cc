// SpatialSoftmaxWithLoss on CUDA devices.
#include "caffe2/cuda/reduction_kernels.h"
#include "operators/activation/softmax_kernels.h"
#include "operators/common/host_device_cuda.h"
#include "operators/common/rate_input_cuda.h"
#include "operators/loss/spatial_softmax_kernels.h"
#include "operators/loss/spatial_softmax_with_loss_op.h"

namespace caffe2 {

template <typename T>
void SpatialSoftmaxLoss(const PixelLabels& pixels, const T* x, float scale, T* p, float* loss,
                        CUDAContext* context) {
  Tensor values(context->device());
  values.Resize(2, pixels.count());
  float* losses = values.mutable_data<float>();
  float* weights = losses + pixels.count();
  LaunchSpatialSoftmax(pixels, x, p, losses, weights, context->report(), context->stream());
  LaunchAverageLoss(pixels.count(), losses, weights, scale, loss, context->stream());
}

template <typename T>
void SpatialSoftmaxLossGradient(const PixelLabels& pixels, const T* p, const Rate& d_loss,
                                float scale, T* dx, CUDAContext* context) {
  Tensor weights(context->device()), scratch(context->device());
  weights.Resize(pixels.count() + 1);
  scratch.Resize(cuda::kTotalScratch);
  float* weight = weights.mutable_data<float>();
  float* total = weight + pixels.count();
  LaunchPixelWeights(pixels, weight, context->stream());
  cuda::LaunchTotal(cuda::Total::kSum, pixels.count(), static_cast<const float*>(weight), 1.0,
                    scratch.mutable_data<double>(), total, context->stream());
  LaunchSpatialSoftmaxGradient(pixels, p, total, d_loss, scale, dx, context->report(),
                               context->stream());
}

REGISTER_CUDA_OPERATOR(SpatialSoftmaxWithLoss, SpatialSoftmaxWithLossOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SpatialSoftmaxWithLossGradient,
                       SpatialSoftmaxWithLossGradientOp<CUDAContext>);

}  // namespace caffe2

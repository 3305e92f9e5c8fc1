// CheckFiniteAndUnscale and UpdateLossScale on CUDA devices: nothing waits for the host.
#include "caffe2/cuda/context_cuda.h"
#include "operators/loss_scale_kernels.h"
#include "operators/loss_scale_op.h"

namespace caffe2 {

template <>
template <typename T>
void CheckFiniteAndUnscaleOp<CUDAContext>::Unscale(const float* scale, float* found_inf) {
  cuda::SetBytesAsync(found_inf, 0, sizeof(float), context_.stream());
  ArrayList<T> list;
  for (const Array& gradient : gradients_) {
    list.size[list.count] = gradient.size;
    list.data[list.count++] = static_cast<T*>(gradient.data);
    if (list.count < ArrayList<T>::kMost) continue;
    LaunchUnscale(list, scale, found_inf, context_.stream());
    list.count = 0;
  }
  LaunchUnscale(list, scale, found_inf, context_.stream());
}

template <>
void UpdateLossScaleOp<CUDAContext>::Update(const float* found_inf, const float* scale,
                                            const int32_t* good_steps, float* scale_out,
                                            int32_t* good_steps_out) {
  LaunchUpdateLossScale(rule_, found_inf, scale, good_steps, scale_out, good_steps_out,
                        context_.stream());
}

REGISTER_CUDA_OPERATOR(CheckFiniteAndUnscale, CheckFiniteAndUnscaleOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UpdateLossScale, UpdateLossScaleOp<CUDAContext>);

}  // namespace caffe2

// CheckFiniteAndUnscale, CheckFinite and UpdateLossScale on CUDA devices. They do not wait for the
// host.
#include "caffe2/cuda/context_cuda.h"
#include "operators/loss/loss_scale_kernels.h"
#include "operators/loss/loss_scale_op.h"

namespace caffe2 {

namespace {

template <typename T, class Arrays>
void LaunchAll(const Arrays& arrays, bool write, const float* scale, float* found_inf,
               cuda::Stream stream) {
  ForEachList<T>(arrays, [&](const ArrayList<T>& list) {
    LaunchUnscale(list, write, scale, found_inf, stream);
  });
}

}  // namespace

template <>
void CheckFiniteAndUnscaleOp<CUDAContext, true>::Clear(float* found_inf) {
  cuda::SetBytesAsync(found_inf, 0, sizeof(float), context_.stream());
}
template <>
void CheckFiniteAndUnscaleOp<CUDAContext, false>::Clear(float* found_inf) {
  cuda::SetBytesAsync(found_inf, 0, sizeof(float), context_.stream());
}

template <>
template <typename T>
void CheckFiniteAndUnscaleOp<CUDAContext, true>::Unscale(const float* scale, float* found_inf) {
  LaunchAll<T>(gradients_, true, scale, found_inf, context_.stream());
}
template <>
template <typename T>
void CheckFiniteAndUnscaleOp<CUDAContext, false>::Unscale(const float* scale, float* found_inf) {
  LaunchAll<T>(gradients_, false, scale, found_inf, context_.stream());
}

template <>
void UpdateLossScaleOp<CUDAContext>::Update(const float* found_inf, const float* scale,
                                            const int32_t* good_steps, float* scale_out,
                                            int32_t* good_steps_out) {
  LaunchUpdateLossScale(rule_, found_inf, scale, good_steps, scale_out, good_steps_out,
                        context_.stream());
}

REGISTER_CUDA_OPERATOR(CheckFiniteAndUnscale, CheckFiniteAndUnscaleOp<CUDAContext>);
using CheckFiniteOp = CheckFiniteAndUnscaleOp<CUDAContext, false>;
REGISTER_CUDA_OPERATOR(CheckFinite, CheckFiniteOp);
REGISTER_CUDA_OPERATOR(UpdateLossScale, UpdateLossScaleOp<CUDAContext>);

}  // namespace caffe2

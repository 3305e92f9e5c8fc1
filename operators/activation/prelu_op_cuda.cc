#include "operators/activation/prelu_kernels.h"
#include "operators/activation/prelu_op.h"
#include "operators/elementwise/binary_op_cuda.h"

namespace caffe2 {

template <>
template <typename T>
void PReluGradientOp<CUDAContext>::Derive(const Sizes& s, const T* x, const float* slope,
                                          const T* dy, T* dx, float* d_slope) {
  const SlopedChannels layout{s.outer, s.channels, s.inner};
  Tensor scratch(context_.device());
  scratch.Resize(PReluScratch(layout));
  LaunchPReluGradient(layout, x, slope, dy, scratch.mutable_data<double>(), dx, d_slope,
                      context_.stream());
}

REGISTER_CUDA_OPERATOR(PRelu, PReluOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PReluGradient, PReluGradientOp<CUDAContext>);

}  // namespace caffe2

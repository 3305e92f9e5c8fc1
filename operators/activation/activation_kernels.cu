// Kernels of activations.
#include "caffe2/cuda/kernel.h"
#include "operators/activation/elu_op.h"
#include "operators/activation/gelu_op.h"
#include "operators/activation/glu_functions.h"
#include "operators/activation/group_spatial_softmax_functions.h"
#include "operators/activation/hard_sigmoid_op.h"
#include "operators/activation/leaky_relu_op.h"
#include "operators/activation/logit_op.h"
#include "operators/activation/prelu_functions.h"
#include "operators/activation/prelu_kernels.h"
#include "operators/activation/relu_n_op.h"
#include "operators/activation/relu_op.h"
#include "operators/activation/selu_op.h"
#include "operators/activation/sigmoid_op.h"
#include "operators/activation/softplus_op.h"
#include "operators/activation/softsign_op.h"
#include "operators/activation/swish_op.h"
#include "operators/activation/tanh_op.h"
#include "operators/activation/thresholded_relu_op.h"
#include "operators/common/host_device_kernel.h"

namespace caffe2 {
namespace {

constexpr int64_t kSlopeParts = 64;  // blocks that share a channel
int64_t SlopeParts(const SlopedChannels& l) {
  const int64_t parts = l.outer * l.inner / (4 * cuda::kThreads) + 1;
  return std::min(parts, kSlopeParts);
}

// Block (channel, part) handles a share of the channel's elements. Channels are along x, because
// the y axis of a grid may be too short for them.
template <typename T>
__global__ void PReluGradientKernel(SlopedChannels l, const T* x, const float* slope, const T* dy,
                                    double* partial, T* dx) {
  const int64_t channel = blockIdx.x, count = l.outer * l.inner;
  const int64_t first = static_cast<int64_t>(blockIdx.y) * cuda::kThreads + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.y) * cuda::kThreads;
  const float factor = slope[channel];
  double sum = 0;
  for (int64_t i = first; i < count; i += step) {
    const int64_t at = (i / l.inner * l.channels + channel) * l.inner + i % l.inner;
    const float value = cuda::Widen(x[at]), gradient = cuda::Widen(dy[at]);
    sum += PReluFunction().GradientB(gradient, value, factor);
    dx[at] = cuda::Narrow<T>(PReluFunction().GradientA(gradient, value, factor));
  }
  sum = cuda::BlockSum<cuda::kThreads>(sum);
  if (threadIdx.x == 0) partial[channel * gridDim.y + blockIdx.y] = sum;
}

}  // namespace

int64_t PReluScratch(const SlopedChannels& layout) { return SlopeParts(layout) * layout.channels; }

template <typename T>
void LaunchPReluGradient(const SlopedChannels& layout, const T* x, const float* slope, const T* dy,
                         double* scratch, T* dx, float* dslope, cuda::Stream stream) {
  if (layout.channels == 0) return;
  const int64_t parts = SlopeParts(layout);
  cuda::Launch("PReluGradient", PReluGradientKernel<T>,
               dim3(static_cast<unsigned>(layout.channels), static_cast<unsigned>(parts)),
               cuda::kThreads, stream, layout, x, slope, dy, scratch, dx);
  cuda::ForEach("AddSlopes", layout.channels, stream, [=] __device__(int64_t c) {
    double sum = 0;
    for (int64_t part = 0; part < parts; ++part) sum += scratch[c * parts + part];
    dslope[c] = static_cast<float>(sum);
  });
}

INSTANTIATE_UNARY_REAL(EluFunction);
INSTANTIATE_UNARY_REAL(ExactGelu);
INSTANTIATE_UNARY_REAL(FastGelu);
INSTANTIATE_UNARY_REAL(HardSigmoidFunction);
INSTANTIATE_UNARY_REAL(LeakyReluFunction);
INSTANTIATE_UNARY_REAL(LogitFunction);
INSTANTIATE_UNARY_REAL(ReluNFunction);
INSTANTIATE_UNARY_REAL(ReluFunction);
INSTANTIATE_UNARY_REAL(SeluFunction);
INSTANTIATE_UNARY_REAL(SigmoidFunction);
INSTANTIATE_UNARY_REAL(SoftplusFunction);
INSTANTIATE_UNARY_REAL(SoftsignFunction);
INSTANTIATE_UNARY_REAL(TanhFunction);
INSTANTIATE_UNARY_REAL(ThresholdedReluFunction);
INSTANTIATE_UNARY(ReluFunction, int);
INSTANTIATE_FOR_EACH_ROW_REAL(GluRows);

#define INSTANTIATE(T)                                         \
  INSTANTIATE_MAP(MishFunction, T);                            \
  INSTANTIATE_MAP(SwishFunction, T);                           \
  INSTANTIATE_MAP_3(host_device::GradientOf<MishFunction>, T); \
  INSTANTIATE_MAP_3(host_device::GradientOf<SwishFunction>, T)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

#define INSTANTIATE_PRELU_GRADIENT(T)                                                        \
  template void LaunchPReluGradient(const SlopedChannels&, const T*, const float*, const T*, \
                                    double*, T*, float*, cuda::Stream)
INSTANTIATE_PRELU_GRADIENT(float);
INSTANTIATE_PRELU_GRADIENT(float16);
INSTANTIATE_PRELU_GRADIENT(bfloat16);

INSTANTIATE_FOR_EACH(GroupSoftmax);
INSTANTIATE_FOR_EACH(GroupSoftmaxGradient);

}  // namespace caffe2

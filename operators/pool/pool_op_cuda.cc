// MaxPool, AveragePool and LpPool with their gradients on CUDA devices.
#include "operators/common/portable_cuda.h"
#include "operators/pool/lp_pool_op.h"
#include "operators/pool/pool_cuda_kernels.h"
#include "operators/pool/pool_op.h"

namespace caffe2 {
namespace {

PoolLayout LayoutOf(const PoolShape& shape, PoolKind kind) {
  PoolLayout layout;
  layout.max = kind == PoolKind::kMax;
  layout.channels_last = shape.channels_last;
  layout.count_include_pad = shape.count_include_pad;
  layout.batch = shape.batch;
  layout.channels = shape.channels;
  for (int d = 0; d < 3; ++d) {
    layout.input[d] = shape.input[d];
    layout.output[d] = shape.output[d];
    layout.kernel[d] = shape.kernel[d];
    layout.stride[d] = shape.stride[d];
    layout.pad[d] = shape.pad[d];
  }
  return layout;
}

}  // namespace

template <typename T>
void Pool(PoolKind kind, const PoolShape& shape, const T* x, T* y, CUDAContext* context) {
  LaunchPool(LayoutOf(shape, kind), x, y, context->stream());
}
template <typename T>
void PoolGradient(PoolKind kind, const PoolShape& shape, const T* x, const T* y, const T* dy, T* dx,
                  CUDAContext* context) {
  LaunchPoolGradient(LayoutOf(shape, kind), x, y, dy, dx, context->stream());
}

#define REGISTER_CUDA_POOL(name, kind)                               \
  REGISTER_CUDA_OPERATOR(name, PoolOp<CUDAContext, PoolKind::kind>); \
  REGISTER_CUDA_OPERATOR(name##Gradient, PoolGradientOp<CUDAContext, PoolKind::kind>)

REGISTER_CUDA_POOL(MaxPool, kMax);
REGISTER_CUDA_POOL(MaxPool1D, kMax);
REGISTER_CUDA_POOL(MaxPool2D, kMax);
REGISTER_CUDA_POOL(MaxPool3D, kMax);
REGISTER_CUDA_POOL(AveragePool, kAverage);
REGISTER_CUDA_POOL(AveragePool1D, kAverage);
REGISTER_CUDA_POOL(AveragePool2D, kAverage);
REGISTER_CUDA_POOL(AveragePool3D, kAverage);
REGISTER_CUDA_OPERATOR(LpPool, LpPoolOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LpPoolGradient, LpPoolGradientOp<CUDAContext>);

}  // namespace caffe2

// MaxPool and AveragePool with their gradients on CUDA devices.
#include "operators/pool/pool_cuda.h"

namespace caffe2 {

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

}  // namespace caffe2

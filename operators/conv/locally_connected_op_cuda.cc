// Locally connected layers on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/conv/locally_connected_op.h"

namespace caffe2 {

#define REGISTER_CUDA_LOCALLY_CONNECTED(name)                    \
  REGISTER_CUDA_OPERATOR(name, LocallyConnectedOp<CUDAContext>); \
  REGISTER_CUDA_OPERATOR(name##Gradient, LocallyConnectedGradientOp<CUDAContext>)
REGISTER_CUDA_LOCALLY_CONNECTED(LC);
REGISTER_CUDA_LOCALLY_CONNECTED(LC1D);
REGISTER_CUDA_LOCALLY_CONNECTED(LC2D);
REGISTER_CUDA_LOCALLY_CONNECTED(LC3D);
#undef REGISTER_CUDA_LOCALLY_CONNECTED

}  // namespace caffe2

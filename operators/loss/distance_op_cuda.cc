// L1Distance, DotProduct and CosineSimilarity with their gradients on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/loss/distance_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(L1Distance, DistanceOp<CUDAContext, L1Distance>);
REGISTER_CUDA_OPERATOR(L1DistanceGradient, DistanceGradientOp<CUDAContext, L1Distance>);
REGISTER_CUDA_OPERATOR(DotProduct, DistanceOp<CUDAContext, DotProduct>);
REGISTER_CUDA_OPERATOR(DotProductGradient, DistanceGradientOp<CUDAContext, DotProduct>);
REGISTER_CUDA_OPERATOR(CosineSimilarity, DistanceOp<CUDAContext, CosineSimilarity>);
REGISTER_CUDA_OPERATOR(CosineSimilarityGradient, DistanceGradientOp<CUDAContext, CosineSimilarity>);

}  // namespace caffe2

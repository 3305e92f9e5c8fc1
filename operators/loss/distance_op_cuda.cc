// Distances between rows and norms on CUDA devices.
#include "operators/common/portable_cuda.h"
#include "operators/loss/distance_op.h"
#include "operators/norm/normalize_op.h"

namespace caffe2 {
namespace {

template <class Measure>
using Distance = DistanceOp<CUDAContext, Measure>;
template <class Measure>
using DistanceGradient = DistanceGradientOp<CUDAContext, Measure>;
template <class Norm>
using Normalize = NormalizeOp<CUDAContext, Norm>;

REGISTER_CUDA_OPERATOR(SquaredL2Distance, Distance<SquaredL2Distance>);
REGISTER_CUDA_OPERATOR(SquaredL2DistanceGradient, DistanceGradient<SquaredL2Distance>);
REGISTER_CUDA_OPERATOR(L1Distance, Distance<L1Distance>);
REGISTER_CUDA_OPERATOR(L1DistanceGradient, DistanceGradient<L1Distance>);
REGISTER_CUDA_OPERATOR(DotProduct, Distance<DotProduct>);
REGISTER_CUDA_OPERATOR(DotProductGradient, DistanceGradient<DotProduct>);
REGISTER_CUDA_OPERATOR(CosineSimilarity, Distance<CosineSimilarity>);
REGISTER_CUDA_OPERATOR(CosineSimilarityGradient, DistanceGradient<CosineSimilarity>);
REGISTER_CUDA_OPERATOR(Normalize, Normalize<L2Norm>);
REGISTER_CUDA_OPERATOR(NormalizeL1, Normalize<L1Norm>);
REGISTER_CUDA_OPERATOR(NormalizeGradient, NormalizeGradientOp<CUDAContext>);

}  // namespace
}  // namespace caffe2

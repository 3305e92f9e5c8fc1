#include "operators/common/optimizer_cuda.h"
#include "operators/common/total_product_cuda.h"
#include "operators/elementwise/weighted_sum_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(WeightedSumGradient, WeightedSumGradientOp<CUDAContext>);

}  // namespace caffe2

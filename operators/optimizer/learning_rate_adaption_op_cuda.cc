#include "operators/common/rate_input_cuda.h"
#include "operators/common/total_product_cuda.h"
#include "operators/optimizer/learning_rate_adaption_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(LearningRateAdaption, LearningRateAdaptionOp<CUDAContext>);

}  // namespace caffe2

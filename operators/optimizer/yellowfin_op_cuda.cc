#include "operators/common/rate_input_cuda.h"
#include "operators/common/total_product_cuda.h"
#include "operators/optimizer/yellowfin_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(YellowFin, YellowFinOp<CUDAContext>);

}  // namespace caffe2

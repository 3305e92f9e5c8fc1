#include "operators/optimizer/yellowfin_op.h"

#include "operators/common/optimizer_cuda.h"
#include "operators/common/total_product_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(YellowFin, YellowFinOp<CUDAContext>);

}  // namespace caffe2

#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/unary_op.h"
#include "operators/loss/bernoulli_jsd_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR_WITH_GRADIENT(BernoulliJSD, BernoulliDivergence, TensorTypes<float>);

}  // namespace caffe2

// Kernels of activations.
#include "operators/activation/elu_op.h"
#include "operators/activation/gelu_op.h"
#include "operators/activation/glu_functions.h"
#include "operators/activation/hard_sigmoid_op.h"
#include "operators/activation/leaky_relu_op.h"
#include "operators/activation/logit_op.h"
#include "operators/activation/relu_n_op.h"
#include "operators/activation/relu_op.h"
#include "operators/activation/selu_op.h"
#include "operators/activation/sigmoid_op.h"
#include "operators/activation/softplus_op.h"
#include "operators/activation/softsign_op.h"
#include "operators/activation/swish_op.h"
#include "operators/activation/tanh_op.h"
#include "operators/activation/thresholded_relu_op.h"
#include "operators/common/host_device_kernel.h"

namespace caffe2 {

INSTANTIATE_UNARY_REAL(EluFunction);
INSTANTIATE_UNARY_REAL(ExactGelu);
INSTANTIATE_UNARY_REAL(FastGelu);
INSTANTIATE_UNARY_REAL(HardSigmoidFunction);
INSTANTIATE_UNARY_REAL(LeakyReluFunction);
INSTANTIATE_UNARY_REAL(LogitFunction);
INSTANTIATE_UNARY_REAL(ReluNFunction);
INSTANTIATE_UNARY_REAL(ReluFunction);
INSTANTIATE_UNARY_REAL(SeluFunction);
INSTANTIATE_UNARY_REAL(SigmoidFunction);
INSTANTIATE_UNARY_REAL(SoftplusFunction);
INSTANTIATE_UNARY_REAL(SoftsignFunction);
INSTANTIATE_UNARY_REAL(TanhFunction);
INSTANTIATE_UNARY_REAL(ThresholdedReluFunction);
INSTANTIATE_UNARY(ReluFunction, int);
INSTANTIATE_FOR_EACH_ROW_REAL(GluRows);

#define INSTANTIATE(T)                                         \
  INSTANTIATE_MAP(MishFunction, T);                            \
  INSTANTIATE_MAP(SwishFunction, T);                           \
  INSTANTIATE_MAP_3(host_device::GradientOf<MishFunction>, T); \
  INSTANTIATE_MAP_3(host_device::GradientOf<SwishFunction>, T)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2

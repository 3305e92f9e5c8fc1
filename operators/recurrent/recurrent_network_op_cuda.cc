// RecurrentNetwork and its gradient on CUDA devices. Their step nets have operators with devices of
// their own; those of the links run where the network does.
#include "operators/common/copy_elements.h"
#include "operators/common/portable_cuda.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/recurrent/recurrent_network_gradient_op.h"
#include "operators/recurrent/recurrent_network_link_op.h"
#include "operators/recurrent/recurrent_network_op.h"

namespace caffe2 {

template <>
void SetZero<CUDAContext>(Tensor* x, CUDAContext* context) {
  float* data = x->mutable_data<float>();
  ClearBytes(x->nbytes(), data, context);
}

template <>
void AddTo<CUDAContext>(int64_t n, const float* x, float* y, CUDAContext* context) {
  Terms terms;
  terms.x[terms.count++] = y;
  terms.x[terms.count++] = x;
  LaunchSum(n, terms, y, context->stream());
}

REGISTER_CUDA_OPERATOR(RecurrentNetwork, RecurrentNetworkOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RecurrentNetworkGradient, RecurrentNetworkGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(rnn_internal_apply_link, RNNApplyLinkOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(rnn_internal_accumulate_gradient_input,
                       AccumulateInputGradientOp<CUDAContext>);

}  // namespace caffe2

// The links of recurrent networks on CUDA devices: they run where the network does.
#include "caffe2/cuda/context_cuda.h"
#include "operators/recurrent/recurrent_network_link_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(rnn_internal_apply_link, RNNApplyLinkOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(rnn_internal_accumulate_gradient_input,
                       AccumulateInputGradientOp<CUDAContext>);

}  // namespace caffe2

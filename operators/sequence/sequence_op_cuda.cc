// ReversePackedSegs on CUDA devices.
#include "operators/common/row_copier_cuda.h"
#include "operators/sequence/pack_rnn_sequence_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(ReversePackedSegs, ReversePackedSegsOp<CUDAContext>);

}  // namespace caffe2

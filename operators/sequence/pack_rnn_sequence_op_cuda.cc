// PackRNNSequence and UnpackRNNSequence on CUDA devices.
#include "operators/common/row_copier_cuda.h"
#include "operators/sequence/pack_rnn_sequence_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(PackRNNSequence, PackRNNSequenceOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UnpackRNNSequence, UnpackRNNSequenceOp<CUDAContext>);

}  // namespace caffe2

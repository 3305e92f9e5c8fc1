#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/side_stream.h"
#include "operators/control/join_side_stream_op.h"

namespace caffe2 {

template <>
bool JoinSideStreamOp<CUDAContext>::RunOnDevice() {
  cuda::JoinSideWork(context_.device_id(), Input(0).raw_data());
  return true;
}

namespace {

REGISTER_CUDA_OPERATOR(JoinSideStream, JoinSideStreamOp<CUDAContext>);

}  // namespace
}  // namespace caffe2

#include "caffe2/cuda/context_cuda.h"
#include "distributed/nccl_op.h"

namespace caffe2 {
namespace {

REGISTER_CUDA_OPERATOR(NCCLAllreduce, NcclAllreduceOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(NCCLBroadcast, NcclBroadcastOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(NCCLReduce, NcclReduceOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(NCCLAllGather, NcclAllGatherOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(NCCLReduceScatter, NcclReduceScatterOp<CUDAContext>);

}  // namespace
}  // namespace caffe2

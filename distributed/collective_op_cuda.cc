#include "distributed/collective_op_cuda.h"

#include "distributed/collective_op.h"

namespace caffe2 {
namespace {

REGISTER_CUDA_COLLECTIVE(Broadcast, BroadcastOp<CUDAContext>);
REGISTER_CUDA_COLLECTIVE(Barrier, BarrierOp<CUDAContext>);
REGISTER_CUDA_COLLECTIVE(Allgather, AllgatherOp<CUDAContext>);
REGISTER_CUDA_COLLECTIVE(AllgatherRows, AllgatherRowsOp<CUDAContext>);
REGISTER_CUDA_COLLECTIVE(ReduceScatter, ReduceScatterOp<CUDAContext>);

}  // namespace
}  // namespace caffe2

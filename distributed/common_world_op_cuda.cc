// The engine of CreateCommonWorld selects the transport of CUDA tensors: NCCL, or Gloo through
// page-locked host memory.
#include "distributed/collective_op_cuda.h"
#include "distributed/common_world_op.h"
#include "distributed/nccl_communicator_cuda.h"
#include "distributed/shared_memory_communicator.h"
#include "distributed/staged_communicator_cuda.h"

namespace caffe2 {
namespace {

class CreateGlooWorldOp final : public CreateWorldOp<CUDAContext> {
 public:
  using CreateWorldOp::CreateWorldOp;

 private:
  CommonWorld Connect(StoreHandler* store, const CommunicatorOptions& options) override {
    return StageThroughHost(ConnectShards(store, options), context_.device_id(), options.timeout);
  }
};

class CreateNcclWorldOp final : public CreateWorldOp<CUDAContext> {
 public:
  using CreateWorldOp::CreateWorldOp;

 private:
  CommonWorld Connect(StoreHandler* store, const CommunicatorOptions& options) override {
    return ConnectNccl(store, options, context_.device_id());
  }
};

REGISTER_CUDA_OPERATOR(CreateCommonWorld, CreateGlooWorldOp);
REGISTER_CUDA_OPERATOR_WITH_ENGINE(CreateCommonWorld, GLOO, CreateGlooWorldOp);
REGISTER_CUDA_OPERATOR_WITH_ENGINE(CreateCommonWorld, NCCL, CreateNcclWorldOp);

REGISTER_CUDA_COLLECTIVE(CloneCommonWorld, CloneCommonWorldOp<CUDAContext>);
REGISTER_CUDA_COLLECTIVE(DestroyCommonWorld, DestroyCommonWorldOp<CUDAContext>);

}  // namespace
}  // namespace caffe2

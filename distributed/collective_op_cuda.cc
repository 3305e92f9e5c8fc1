// Collectives of CUDA tensors. The engine of CreateCommonWorld selects the transport: NCCL, or Gloo
// through page-locked host memory.
#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/graph.h"
#include "distributed/allreduce_op.h"
#include "distributed/collective_op.h"
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

// Op, which a CUDA graph may record if its common world allows it.
template <class Op, bool kJoins>
class RecordableOp final : public Op, public cuda::RecordableCollective {
 public:
  using Op::Op;

  bool MayBeRecorded() const override {
    const CommonWorld& world = OperatorBase::Input<CommonWorld>(0);
    return world != nullptr && world->MayBeRecorded();
  }
  bool HasPeers() const override {
    const CommonWorld& world = OperatorBase::Input<CommonWorld>(0);
    return world != nullptr && world->size() > 1;
  }
  void AgreeOnRecording(bool recorded) override {
    this->World()->Agree(MakeString(this->type(), " ", this->OperationName()),
                         recorded ? "in a CUDA graph" : "outside of CUDA graphs");
  }
  bool LeavesOpen() const override {
    return this->template GetSingleArgument<bool>("async", false);
  }
  bool Joins() const override { return kJoins; }
  void BeginRecorded() override { this->World()->BeginRecorded(); }
  void AwaitRecorded() override { this->World()->AwaitRecorded(); }
};
using RecordableBucket = RecordableOp<AllreduceBucketOp<CUDAContext>, false>;
using RecordableAwait = RecordableOp<AwaitCollectivesOp<CUDAContext>, true>;

REGISTER_CUDA_OPERATOR(CreateCommonWorld, CreateGlooWorldOp);
REGISTER_CUDA_OPERATOR_WITH_ENGINE(CreateCommonWorld, GLOO, CreateGlooWorldOp);
REGISTER_CUDA_OPERATOR_WITH_ENGINE(CreateCommonWorld, NCCL, CreateNcclWorldOp);

// The operators are the same for all engines.
#define REGISTER_COLLECTIVE(type, ...)                         \
  REGISTER_CUDA_OPERATOR(type, __VA_ARGS__);                   \
  REGISTER_CUDA_OPERATOR_WITH_ENGINE(type, GLOO, __VA_ARGS__); \
  REGISTER_CUDA_OPERATOR_WITH_ENGINE(type, NCCL, __VA_ARGS__)
REGISTER_COLLECTIVE(CloneCommonWorld, CloneCommonWorldOp<CUDAContext>);
REGISTER_COLLECTIVE(DestroyCommonWorld, DestroyCommonWorldOp<CUDAContext>);
REGISTER_COLLECTIVE(Allreduce, AllreduceOp<CUDAContext>);
REGISTER_COLLECTIVE(AllreduceBucket, RecordableBucket);
REGISTER_COLLECTIVE(AwaitCollectives, RecordableAwait);
REGISTER_COLLECTIVE(Broadcast, BroadcastOp<CUDAContext>);
REGISTER_COLLECTIVE(Barrier, BarrierOp<CUDAContext>);
REGISTER_COLLECTIVE(Allgather, AllgatherOp<CUDAContext>);
REGISTER_COLLECTIVE(AllgatherRows, AllgatherRowsOp<CUDAContext>);
REGISTER_COLLECTIVE(ReduceScatter, ReduceScatterOp<CUDAContext>);

}  // namespace
}  // namespace caffe2

#include "caffe2/cuda/graph.h"
#include "distributed/allreduce_op.h"
#include "distributed/collective_op_cuda.h"

namespace caffe2 {
namespace {

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

REGISTER_CUDA_COLLECTIVE(Allreduce, AllreduceOp<CUDAContext>);
REGISTER_CUDA_COLLECTIVE(AllreduceBucket, RecordableBucket);
REGISTER_CUDA_COLLECTIVE(AwaitCollectives, RecordableAwait);

}  // namespace
}  // namespace caffe2

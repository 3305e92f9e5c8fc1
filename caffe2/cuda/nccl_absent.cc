// caffe2/cuda/nccl.h where NCCL was not found.
#include "caffe2/core/logging.h"
#include "caffe2/cuda/nccl.h"

namespace caffe2::cuda {

struct NcclGroup::State {};

NcclId MakeNcclId() { throw Error("this build has no NCCL: nccl.h was not found"); }
NcclGroup::NcclGroup(const NcclId&, int, int, int, Stream, std::function<void()>) { MakeNcclId(); }
NcclGroup::~NcclGroup() = default;
void NcclGroup::Allreduce(void*, int64_t, TypeMeta) {}
void NcclGroup::Broadcast(void*, size_t, int) {}
void NcclGroup::Allgather(const void*, void*, size_t) {}
void NcclGroup::ReduceParts(void*, const std::vector<int64_t>&, TypeMeta) {}
bool NcclGroup::Done() { return true; }
void NcclGroup::Abort() {}

}  // namespace caffe2::cuda

// caffe2/cuda/nccl.h for builds without NCCL.
#include "caffe2/core/logging.h"
#include "caffe2/cuda/nccl.h"

namespace caffe2::cuda {

struct NcclGroup::State {};

NcclId MakeNcclId() { throw Error("this build has no NCCL: nccl.h was not found"); }
// The interface takes a function to keep, which nobody needs here.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
NcclGroup::NcclGroup(const NcclId&, int, int, int, Stream, std::function<void()>) { MakeNcclId(); }
NcclGroup::~NcclGroup() = default;
void NcclGroup::Allreduce(void*, int64_t, TypeMeta) {}
void NcclGroup::Broadcast(void*, size_t, int) {}
void NcclGroup::Allgather(const void*, void*, size_t) {}
void NcclGroup::ReduceParts(void*, const std::vector<int64_t>&, TypeMeta) {}
bool NcclGroup::Done() { return true; }
void NcclGroup::CheckErrors() {}
void NcclGroup::Join(Stream) {}
void NcclGroup::Abort() {}

struct LocalNcclGroup::State {};
LocalNcclGroup* LocalNcclGroup::Of(const std::vector<int>& devices) {
  return FindLocalGroup(devices, []() -> std::unique_ptr<LocalNcclGroup> {
    MakeNcclId();
    return nullptr;
  });
}
void LocalNcclGroup::Allreduce(const std::vector<const void*>&, const std::vector<void*>&, int64_t,
                               TypeMeta) {}
void LocalNcclGroup::Reduce(const std::vector<const void*>&, void*, int64_t, TypeMeta, int) {}
void LocalNcclGroup::Broadcast(const void*, const std::vector<void*>&, size_t, int) {}
void LocalNcclGroup::Allgather(const std::vector<const void*>&, const std::vector<void*>&, size_t) {
}
void LocalNcclGroup::ReduceScatter(const std::vector<const void*>&, const std::vector<void*>&,
                                   int64_t, TypeMeta) {}

}  // namespace caffe2::cuda

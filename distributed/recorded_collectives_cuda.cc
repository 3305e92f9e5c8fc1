#include "distributed/recorded_collectives_cuda.h"

#include <algorithm>
#include <atomic>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/arrival_kernels.h"
#include "caffe2/cuda/runtime.h"

namespace caffe2 {
namespace {

constexpr size_t kMaxMarks = 4096;

}  // namespace

RecordedCollectives::~RecordedCollectives() {
  if (places_ != nullptr) cuda::FreePinned(places_);
}

void RecordedCollectives::MarkOperation(const std::string& operation, cuda::Stream stream) {
  Add(Kind::kOperation, operation, stream);
}
void RecordedCollectives::MarkJoin(cuda::Stream stream) { Add(Kind::kJoin, "", stream); }
void RecordedCollectives::MarkJoined(cuda::Stream stream) { Add(Kind::kJoined, "", stream); }

void RecordedCollectives::Add(Kind kind, const std::string& operation, cuda::Stream stream) {
  if (marks_.size() == kMaxMarks) {
    LOG_FIRST_N(WARNING, 1)
        << "CUDA graphs were recorded so often with collective operations that "
           "no more marks are left: a shard that holds up the others in a graph "
           "may not be named";
    return;
  }
  if (places_ == nullptr) {
    places_ = static_cast<int32_t*>(cuda::AllocatePinned(kMaxMarks * sizeof(int32_t)));
    std::fill_n(places_, kMaxMarks, 0);
  }
  const cuda::DeviceGuard guard(device_);
  cuda::NoteArrival(places_ + marks_.size(), stream);
  marks_.push_back({kind, operation});
}

void RecordedCollectives::Reset() {
  for (size_t i = 0; i < marks_.size(); ++i) {
    std::atomic_ref<int32_t>(places_[i]).store(0, std::memory_order_relaxed);
    marks_[i].taken = false;
  }
}

std::vector<std::string> RecordedCollectives::TakeBegun() {
  std::vector<std::string> begun;
  for (size_t i = 0; i < marks_.size(); ++i) {
    Mark& mark = marks_[i];
    if (mark.kind != Kind::kOperation || mark.taken || !IsSet(i)) continue;
    mark.taken = true;
    begun.push_back(mark.operation);
  }
  return begun;
}

bool RecordedCollectives::IsWaiting() const {
  for (size_t i = 0; i + 1 < marks_.size(); ++i) {
    if (marks_[i].kind == Kind::kJoin && IsSet(i) && !IsSet(i + 1)) return true;
  }
  return false;
}

bool RecordedCollectives::IsSet(size_t mark) const {
  return std::atomic_ref<int32_t>(places_[mark]).load(std::memory_order_relaxed) != 0;
}

}  // namespace caffe2

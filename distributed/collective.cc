#include "distributed/collective.h"

#include <cstring>
#include <mutex>
#include <set>

#include "caffe2/utils/trace.h"
#include "caffe2/utils/waiting_time.h"
#include "distributed/accumulate.h"

namespace caffe2 {

namespace {

// All live communicators, for AbortCommunicators.
struct LiveCommunicators {
  std::mutex mutex;
  std::set<Communicator*> all;
};
LiveCommunicators& Live() {
  static auto* live = new LiveCommunicators;
  return *live;
}

// The process's CollectiveProgress.
struct ProgressCounter {
  std::mutex mutex;
  CollectiveProgress progress;
};
ProgressCounter& Counter() {
  static auto* counter = new ProgressCounter;
  return *counter;
}

}  // namespace

bool IsPeerError(const std::exception& error) {
  return dynamic_cast<const PeerLost*>(&error) != nullptr ||
         dynamic_cast<const PeerTimeout*>(&error) != nullptr;
}

int SuspectOf(const std::exception& error) {
  if (const auto* lost = dynamic_cast<const PeerLost*>(&error)) return lost->rank();
  if (const auto* timeout = dynamic_cast<const PeerTimeout*>(&error)) return timeout->rank();
  return -1;
}

// The operation of one shard, as text of a fixed size that can be gathered and shown.
struct Communicator::Plan {
  char text[256] = {};
};

Communicator::Communicator(int rank, int size) : rank_(rank), size_(size) {
  CAFFE_ENFORCE(size > 0, "a common world must have at least one shard, found size ", size);
  CAFFE_ENFORCE(rank >= 0 && rank < size, "rank ", rank, " is not in [0, ", size, ")");
}

void Communicator::Register() {
  std::lock_guard<std::mutex> lock(Live().mutex);
  Live().all.insert(this);
}

void Communicator::Unregister() {
  std::lock_guard<std::mutex> lock(Live().mutex);
  Live().all.erase(this);
}

void AbortCommunicators(const std::string& reason) {
  std::lock_guard<std::mutex> lock(Live().mutex);
  for (Communicator* communicator : Live().all) communicator->Abort(reason);
}

CollectiveProgress CurrentCollectiveProgress() {
  std::lock_guard<std::mutex> lock(Counter().mutex);
  return Counter().progress;
}

void Communicator::CountOperation(const std::string& operation) {
  std::lock_guard<std::mutex> lock(Counter().mutex);
  ++Counter().progress.started;
  Counter().progress.operation = operation;
}

std::unique_ptr<TimedWait> Communicator::StartWait() const {
  return RunsOnDevice() ? nullptr : std::make_unique<TimedWait>(WaitFor::kShards);
}

void Communicator::Agree(const char* kind, const std::string& name, int64_t count, TypeMeta type,
                         int root) {
  CAFFE_ENFORCE(count >= 0, kind, " ", name,
                ": the number of elements must not be negative, found ", count);
  CAFFE_ENFORCE(root >= 0 && root < size_, kind, " ", name, ": root ", root, " is not in [0, ",
                size_, ")");
  const std::string detail = MakeString(count, " x ", type.name(), ", root ", root);
  // The detail comes first, so that it is not cut off after a long name.
  Agree(MakeString(kind, " ", name), detail, MakeString(kind, " of ", detail, ": ", name));
}

void Communicator::Agree(const std::string& name, const std::string& detail) {
  Agree(name, detail, MakeString(name, " ", detail));
}

void Communicator::Agree(const std::string& operation, const std::string& detail,
                         const std::string& shown) {
  if (!RunsOnDevice()) CountOperation(operation);
  std::string& agreed = agreed_[operation];
  if (agreed == detail) {
    BeginOperation(operation, false);
    return;
  }
  BeginOperation("agreeing on " + operation, true);
  Plan own;
  std::memcpy(own.text, shown.data(), std::min(shown.size(), sizeof own.text - 1));
  std::vector<Plan> plans(size_);
  GatherPlans(&own, plans.data(), sizeof own);
  for (int rank = 1; rank < size_; ++rank) {
    plans[rank].text[sizeof own.text - 1] = '\0';
    if (std::memcmp(plans[0].text, plans[rank].text, sizeof own.text) == 0) continue;
    const std::string message = MakeString("the shards disagree: shard 0 runs ", plans[0].text,
                                           "; shard ", rank, " runs ", plans[rank].text);
    Abort(message);
    CAFFE_THROW(message);
  }
  agreed = detail;
  BeginOperation(operation, false);
}

void Communicator::Allreduce(const std::string& name, void* data, int64_t count, TypeMeta type) {
  const auto wait = StartWait();
  const TracedSpan span("exchange", "Allreduce", name);
  CheckCanAccumulate(type);
  Agree("Allreduce", name, count, type, 0);
  if (size_ > 1 && count > 0) DoAllreduce(data, count, type);
}

void Communicator::Broadcast(const std::string& name, void* data, int64_t count, TypeMeta type,
                             int root) {
  const auto wait = StartWait();
  const TracedSpan span("exchange", "Broadcast", name);
  CAFFE_ENFORCE(type.copy() == nullptr, "cannot send elements of type ", type.name());
  Agree("Broadcast", name, count, type, root);
  if (size_ > 1 && count > 0) DoBroadcast(data, static_cast<size_t>(count) * type.itemsize(), root);
}

void Communicator::Allgather(const std::string& name, const void* input, void* output,
                             int64_t count, TypeMeta type) {
  const auto wait = StartWait();
  const TracedSpan span("exchange", "Allgather", name);
  CAFFE_ENFORCE(type.copy() == nullptr, "cannot send elements of type ", type.name());
  Agree("Allgather", name, count, type, 0);
  if (count > 0) DoAllgather(input, output, static_cast<size_t>(count) * type.itemsize());
}

void Communicator::ReduceScatter(const std::string& name, void* data,
                                 const std::vector<int64_t>& counts, TypeMeta type) {
  const auto wait = StartWait();
  const TracedSpan span("exchange", "ReduceScatter", name);
  CAFFE_ENFORCE(counts.size() == static_cast<size_t>(size_), "ReduceScatter ", name,
                ": there must be one count for each of the ", size_, " shards, found ",
                counts.size());
  std::string shown;
  int64_t total = 0;
  for (const int64_t count : counts) {
    CAFFE_ENFORCE(count >= 0, "ReduceScatter ", name, ": a count must not be negative, found ",
                  count);
    total += count;
    shown += MakeString(" ", count);
  }
  CheckCanAccumulate(type);
  Agree("ReduceScatter", name + " in parts of" + shown, total, type, 0);
  if (size_ > 1 && total > 0) DoReduceScatter(data, counts, type);
}

void Communicator::Barrier(const std::string& name) {
  const auto wait = StartWait();
  const TracedSpan span("exchange", "Barrier", name);
  Agree("Barrier", name, 0, TypeMeta(), 0);
  DoBarrier();
}

}  // namespace caffe2

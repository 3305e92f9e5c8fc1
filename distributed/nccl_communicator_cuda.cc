#include "distributed/nccl_communicator_cuda.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "caffe2/core/tensor.h"
#include "caffe2/cuda/nccl.h"
#include "caffe2/cuda/runtime.h"
#include "caffe2/utils/waiting_time.h"
#include "distributed/recorded_collectives_cuda.h"

namespace caffe2 {
namespace {

constexpr auto kPoll = std::chrono::microseconds(50);

// Operations run on the device's communication stream, so that the compute stream goes on. NCCL has
// no deadlines and does not tell which shard is missing: the waiting thread checks the time and
// aborts NCCL.
class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const cuda::NcclId& id, const CommunicatorOptions& options, int device)
      : Communicator(options.rank, options.size),
        name_(options.name),
        timeout_(options.timeout),
        connect_timeout_(options.connect_timeout),
        device_(device),
        stream_(cuda::GetStream(device, cuda::kCommunicationStream)),
        before_(device),
        launched_(device),
        recorded_(device),
        operation_("joining common world " + options.name),
        deadline_(options.ConnectTimeout()) {
    group_ = std::make_unique<cuda::NcclGroup>(id, rank(), size(), device, stream_,
                                               [this] { CheckAndSleep(); });
    Register();
  }
  ~NcclCommunicator() override {
    Unregister();
    deadline_ = Deadline(timeout_);
    group_.reset();
  }

  std::shared_ptr<Communicator> Clone(const std::string& name) override;

  void SetTimeout(milliseconds timeout) override {
    CAFFE_ENFORCE(timeout.count() > 0, "the timeout of common world ", name_,
                  " must be positive, found ", timeout.count(), " ms");
    timeout_ = timeout;
  }

  // The waiting thread, or the next operation, sees it.
  void Abort(const std::string& reason) override {
    std::lock_guard<std::mutex> lock(abort_mutex_);
    if (!aborted_.exchange(true)) abort_reason_ = reason;
  }

  void Await() override {
    if (!waiting_) return;
    if (cuda::IsRecorded(Compute())) {
      recorded_.MarkJoin(Compute());
      group_->Join(Compute());
      recorded_.MarkJoined(Compute());
      waiting_ = false;
      return;
    }
    before_.Synchronize();  // the time limit does not include computation
    CountBegun();
    const TimedWait wait(WaitFor::kShards);
    deadline_ = Deadline(timeout_);
    Guarded([this] {
      while (!group_->Done()) CheckAndSleep();
    });
    waiting_ = false;
  }

  bool MayBeRecorded() const override { return true; }
  void BeginRecorded() override {
    operation_ = "a recorded iteration on common world " + name_;
    ThrowIfAborted();
    deadline_ = Deadline(timeout_);
    recorded_.Reset();
  }
  void AwaitRecorded() override {
    launched_.Record(Compute());
    std::optional<TimedWait> wait;
    while (!RecordedIsDone()) {
      CountRecorded();
      if (!recorded_.IsWaiting()) {
        wait.reset();
      } else if (!wait) {
        wait.emplace(WaitFor::kShards);
      }
      Guarded([this] {
        group_->CheckErrors();
        CheckAndSleep();
      });
    }
    CountRecorded();
  }

 protected:
  void DoAllreduce(void* data, int64_t count, TypeMeta type) override {
    Start([&] { group_->Allreduce(data, count, type); });
  }
  void DoBroadcast(void* data, size_t bytes, int root) override {
    Start([&] { group_->Broadcast(data, bytes, root); });
  }
  void DoAllgather(const void* input, void* output, size_t bytes) override {
    Start([&] { group_->Allgather(input, output, bytes); });
  }
  void DoReduceScatter(void* data, const std::vector<int64_t>& counts, TypeMeta type) override {
    Start([&] { group_->ReduceParts(data, counts, type); });
    Await();
    int64_t begin = 0;
    for (int i = 0; i < rank(); ++i) begin += counts[i];
    if (begin == 0 || counts[rank()] == 0) return;
    // Through other memory, because the part and its destination may overlap.
    const size_t bytes = counts[rank()] * type.itemsize();
    Tensor part = Scratch(bytes);
    auto* to = static_cast<char*>(data);
    cuda::CopyAsync(part.raw_mutable_data(), to + begin * type.itemsize(), bytes, Compute());
    cuda::CopyAsync(to, part.raw_data(), bytes, Compute());
  }
  void DoBarrier() override {
    char one = 0;
    std::vector<char> all(size());
    GatherPlans(&one, all.data(), 1);
  }

  void GatherPlans(const void* own, void* all, size_t bytes) override {
    Tensor gathered = Scratch(bytes * size());
    auto* data = static_cast<char*>(gathered.raw_mutable_data());
    char* place = data + rank() * bytes;
    cuda::CopyAsync(place, own, bytes, Compute());
    Start([&] { group_->Allgather(place, data, bytes); });
    Await();
    cuda::CopyAsync(all, data, bytes * size(), Compute());
    cuda::Synchronize(Compute());
  }

  void BeginOperation(const std::string& description, bool /*agreeing*/) override {
    operation_ = description;
    ThrowIfAborted();
  }
  bool RunsOnDevice() const override { return true; }

 private:
  Tensor Scratch(size_t bytes) const {
    Tensor scratch(Device{CUDA, device_});
    scratch.Resize(static_cast<int64_t>(bytes));
    scratch.mutable_data<uint8_t>();
    return scratch;
  }

  // An exception here is a fault of this shard's own device, so it is not turned into PeerLost.
  bool RecordedIsDone() {
    try {
      return launched_.Done();
    } catch (...) {
      group_->Abort();
      throw;
    }
  }

  // Not a constant: while a graph is recorded, it is another stream.
  cuda::Stream Compute() const { return cuda::GetStream(device_, cuda::kComputeStream); }

  template <typename Body>
  void Start(const Body& body) {
    before_.Record(Compute());
    before_.Delay(stream_);
    if (cuda::IsRecorded(Compute())) {
      recorded_.MarkOperation(operation_, stream_);
    } else {
      started_.push_back(operation_);
    }
    deadline_ = Deadline(timeout_);
    Guarded(body);
    waiting_ = true;
  }

  // Counts the started operations, which the device has begun.
  void CountBegun() {
    for (const std::string& operation : started_) CountOperation(operation);
    started_.clear();
  }
  void CountRecorded() {
    for (const std::string& operation : recorded_.TakeBegun()) CountOperation(operation);
  }
  // An error of the device comes out where Await() waits for it.
  bool HasBegun() const {
    try {
      return before_.Done();
    } catch (const std::exception&) {
      return false;
    }
  }

  // Aborts NCCL's operations if the body fails, so that the stream does not wait forever.
  template <typename Body>
  void Guarded(const Body& body) {
    try {
      body();
    } catch (const IoError&) {
      group_->Abort();
      throw;
    } catch (const std::exception& error) {
      const std::string text = operation_ + ": " + error.what();
      Abort(text);
      group_->Abort();
      throw PeerLost(text, -1);
    }
  }

  void ThrowIfAborted() {
    if (!aborted_) return;
    std::lock_guard<std::mutex> lock(abort_mutex_);
    throw PeerLost(operation_ + ": " + abort_reason_, -1);
  }

  void CheckAndSleep() {
    ThrowIfAborted();
    // NCCL may wait for the other shards while an operation starts.
    if (!started_.empty() && HasBegun()) CountBegun();
    if (deadline_.expired()) {
      const std::string text =
          MakeString(operation_, ": another shard did not answer within ", timeout_.count(), " ms");
      Abort(text);
      throw PeerTimeout(text, -1);
    }
    std::this_thread::sleep_for(kPoll);
  }

  const std::string name_;
  milliseconds timeout_;
  const milliseconds connect_timeout_;
  const int device_;
  const cuda::Stream stream_;
  cuda::Event before_;    // the work on the compute stream before the last operation
  cuda::Event launched_;  // the launch of a graph with recorded operations
  RecordedCollectives recorded_;
  std::string operation_;
  std::vector<std::string> started_;  // outside of graphs, and not yet counted
  Deadline deadline_;
  bool waiting_ = false;
  std::unique_ptr<cuda::NcclGroup> group_;

  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;
  std::string abort_reason_;
};

std::shared_ptr<Communicator> NcclCommunicator::Clone(const std::string& name) {
  BeginOperation("cloning common world " + name, false);
  CommunicatorOptions options;
  options.rank = rank();
  options.size = size();
  options.name = name;
  options.timeout = timeout_;
  options.connect_timeout = connect_timeout_;
  const cuda::NcclId id = rank() == 0 ? cuda::MakeNcclId() : cuda::NcclId{};
  std::vector<cuda::NcclId> all(size());
  {
    const TimeoutScope scope(this, options.ConnectTimeout(), options.timeout);
    GatherPlans(&id, all.data(), sizeof(id));
  }
  return std::make_shared<NcclCommunicator>(all[0], options, device_);
}

}  // namespace

std::shared_ptr<Communicator> ConnectNccl(StoreHandler* store, const CommunicatorOptions& options,
                                          int device) {
  CAFFE_ENFORCE(options.timeout.count() > 0, "the timeout of common world ", options.name,
                " must be positive, found ", options.timeout.count(), " ms");
  CAFFE_ENFORCE(options.size > 0 && options.rank >= 0 && options.rank < options.size,
                "common world ", options.name, ": rank ", options.rank,
                " is not in [0, size = ", options.size, ")");
  if (!options.interface.empty()) setenv("NCCL_SOCKET_IFNAME", options.interface.c_str(), 0);
  const Deadline deadline(options.ConnectTimeout());
  const std::string key = options.name + "/nccl_id";
  store->SetDeadline(deadline);
  cuda::NcclId id;
  if (options.rank == 0) {
    id = cuda::MakeNcclId();
    store->Set(key, std::string(id.begin(), id.end()));
  } else {
    std::string text;
    try {
      text = store->Get(key, deadline.remaining());
    } catch (const TimeoutError& error) {
      throw PeerTimeout(error.what(), 0);
    }
    CAFFE_ENFORCE(text.size() == id.size(), "store key ", key, " must hold an NCCL id of ",
                  id.size(), " bytes, found ", text.size(), " bytes");
    std::copy(text.begin(), text.end(), id.begin());
  }
  return std::make_shared<NcclCommunicator>(id, options, device);
}

}  // namespace caffe2

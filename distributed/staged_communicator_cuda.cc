#include "distributed/staged_communicator_cuda.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "caffe2/cuda/runtime.h"
#include "distributed/store_handler.h"

namespace caffe2 {
namespace {

// Page-locked memory that grows.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  ~PinnedBuffer() {
    if (data_ != nullptr) cuda::FreePinned(data_);
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  char* Reserve(size_t bytes) {
    if (bytes <= capacity_) return static_cast<char*>(data_);
    if (data_ != nullptr) cuda::FreePinned(std::exchange(data_, nullptr));
    capacity_ = 0;
    data_ = cuda::AllocatePinned(bytes);
    capacity_ = bytes;
    return static_cast<char*>(data_);
  }

 private:
  void* data_ = nullptr;
  size_t capacity_ = 0;
};

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(std::shared_ptr<Communicator> host, int device, milliseconds timeout)
      : Communicator(host->rank(), host->size()),
        host_(std::move(host)),
        device_(device),
        stream_(cuda::GetStream(device, cuda::kCommunicationStream)),
        before_(device),
        timeout_(timeout),
        worker_([this] { Work(); }) {
    Register();
  }
  // Waits for operations that were started and not awaited.
  ~StagedCommunicator() override {
    Unregister();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    worker_.join();
    try {
      cuda::Synchronize(stream_);  // copies may still read the buffers
    } catch (const std::exception& error) {
      LOG(ERROR) << error.what();
    }
  }

  std::shared_ptr<Communicator> Clone(const std::string& name) override {
    Await();
    return StageThroughHost(host_->Clone(name), device_, timeout_);
  }
  void SetTimeout(milliseconds timeout) override {
    CAFFE_ENFORCE(timeout.count() > 0, "the timeout of a common world must be positive, found ",
                  timeout.count(), " ms");
    timeout_ = timeout;
  }
  void Abort(const std::string& reason) override { host_->Abort(reason); }

  void Await() override {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
    in_use_.clear();
    if (error_) std::rethrow_exception(error_);
    lock.unlock();
    cuda::Synchronize(stream_);  // only copies are left
  }

 protected:
  void DoAllreduce(void* data, int64_t count, TypeMeta type) override {
    const size_t bytes = count * type.itemsize();
    Start({data, bytes, 0}, bytes, {data, bytes, 0}, [=](Communicator* host, const auto& task) {
      host->Allreduce(task.name, task.buffer, count, type);
    });
  }
  void DoBroadcast(void* data, size_t bytes, int root) override {
    const Piece out{data, rank() == root ? 0 : bytes, 0};
    Start({data, rank() == root ? bytes : 0, 0}, bytes, out,
          [=](Communicator* host, const auto& task) {
            host->Broadcast(task.name, task.buffer, bytes, TypeMeta::Make<uint8_t>(), root);
          });
  }
  void DoAllgather(const void* input, void* output, size_t bytes) override {
    // The const_cast is safe: the piece is only read.
    const Piece in{const_cast<void*>(input), bytes, rank() * bytes};
    Start(in, bytes * size(), {output, bytes * size(), 0},
          [=, this](Communicator* host, const auto& task) {
            host->Allgather(task.name, task.buffer + rank() * bytes, task.buffer, bytes,
                            TypeMeta::Make<uint8_t>());
          });
  }
  void DoReduceScatter(void* data, const std::vector<int64_t>& counts, TypeMeta type) override {
    int64_t total = 0;
    for (const int64_t count : counts) total += count;
    const size_t bytes = total * type.itemsize();
    Start({data, bytes, 0}, bytes, {data, counts[rank()] * type.itemsize(), 0},
          [=](Communicator* host, const auto& task) {
            host->ReduceScatter(task.name, task.buffer, counts, type);
          });
  }
  void DoBarrier() override {
    Start({}, 0, {}, [](Communicator* host, const auto& task) { host->Barrier(task.name); });
    Await();
  }
  // The shards compare their plans when the operation runs on the host.
  void GatherPlans(const void* own, void* all, size_t bytes) override {
    for (int i = 0; i < size(); ++i) {
      std::memcpy(static_cast<char*>(all) + i * bytes, own, bytes);
    }
  }
  void BeginOperation(const std::string& description, bool /*agreeing*/) override {
    // Without the kind of the operation, which the host communicator adds again.
    name_ = description.substr(description.find(' ') + 1);
  }
  bool RunsOnDevice() const override { return true; }

 private:
  // Device memory and its offset in the buffer.
  struct Piece {
    void* data = nullptr;
    size_t bytes = 0, offset = 0;
  };
  struct Task {
    std::string name;
    milliseconds timeout;
    char* buffer = nullptr;
    std::unique_ptr<cuda::Event> copied;  // to the host
    Piece result;
    std::function<void(Communicator*, const Task&)> run;
  };

  void Start(const Piece& input, size_t buffer_bytes, const Piece& result,
             std::function<void(Communicator*, const Task&)> run) {
    // An earlier operation with this name may still use the buffer.
    if (!in_use_.insert(name_).second) {
      Await();
      in_use_.insert(name_);
    }
    Task task;
    task.name = name_;
    task.timeout = timeout_;
    task.buffer = buffers_[name_].Reserve(buffer_bytes);
    task.result = result;
    task.run = std::move(run);
    before_.Record(cuda::GetStream(device_, cuda::kComputeStream));
    before_.Delay(stream_);
    if (input.bytes > 0) {
      cuda::CopyAsync(task.buffer + input.offset, input.data, input.bytes, stream_);
    }
    task.copied = std::make_unique<cuda::Event>(device_);
    task.copied->Record(stream_);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (error_) std::rethrow_exception(error_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }

  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const Task& task = tasks_.front();  // stays there until it is done
      const bool failed = error_ != nullptr;
      lock.unlock();
      std::exception_ptr error;
      try {
        if (!failed) Run(task);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error) error_ = error;
      tasks_.pop_front();
      changed_.notify_all();
    }
  }

  void Run(const Task& task) {
    task.copied->Synchronize();
    host_->SetTimeout(task.timeout);
    task.run(host_.get(), task);
    const Piece& result = task.result;
    if (result.bytes == 0) return;
    cuda::CopyAsync(result.data, task.buffer + result.offset, result.bytes, stream_);
  }

  const std::shared_ptr<Communicator> host_;
  const int device_;
  const cuda::Stream stream_;
  cuda::Event before_;  // the work on the compute stream before an operation
  milliseconds timeout_;
  std::string name_;
  std::map<std::string, PinnedBuffer> buffers_;
  std::set<std::string> in_use_;  // names of operations since the last Await

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;    // the first task is running
  std::exception_ptr error_;  // the first error; the communicator cannot be used after it
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace

std::shared_ptr<Communicator> StageThroughHost(std::shared_ptr<Communicator> host, int device,
                                               milliseconds timeout) {
  return std::make_shared<StagedCommunicator>(std::move(host), device, timeout);
}

}  // namespace caffe2

// caffe2/cuda/runtime.h on the host, for tests without a GPU: three devices whose memory is
// ordinary memory and whose work is done when a call returns, but for that of copy and side
// streams: it is done when somebody waits for it, so that a missing event shows. Device 1 has 1 MB
// of memory, so that running out can be tested.
#include "caffe2/cuda/runtime.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/graph.h"
#include "caffe2/cuda/side_stream.h"
#include "caffe2/cuda/stream_memory.h"
#include "tests/cuda_emulation/device.h"

namespace caffe2::cuda {
namespace {
class LazyQueue;
}
}  // namespace caffe2::cuda

// A mark in the work of a lazy stream; in that of other streams everything is done.
struct CUevent_st {
  int device = 0;
  caffe2::cuda::LazyQueue* queue = nullptr;
  uint64_t position = 0;
};

namespace caffe2::cuda {
namespace {

constexpr int kDevices = 3;

struct Pool {
  std::mutex mutex;
  std::map<void*, size_t> blocks;
  size_t used = 0, total = 0, peak = 0;
};

Pool& PoolOf(int device) {
  static auto* pools = [] {
    auto* made = new std::array<Pool, kDevices>;
    (*made)[0].total = size_t{8} << 30;
    (*made)[1].total = size_t{1} << 20;
    (*made)[2].total = size_t{8} << 30;
    return made;
  }();
  return pools->at(device);
}

thread_local int current_device = -1;

// What a graph will do, and the memory that is its own.
struct Recording {
  int device = 0;
  std::vector<std::function<void()>> work;
  std::vector<void*> idle;  // given back meanwhile
  std::set<void*> in_use;
  std::vector<std::pair<void*, int>> from_before;
};
thread_local Recording* recording = nullptr;

void CheckNotRecording(const char* what) {
  if (recording != nullptr) throw Error(std::string(what) + " cannot be recorded in a CUDA graph");
}

// A stream is an entry of a table, so that its device can be told.
constexpr int kStreams = 8;  // of a device
std::array<std::array<char, kStreams>, kDevices> stream_table;
int DeviceOf(Stream stream) {
  return static_cast<int>(reinterpret_cast<char*>(stream) - stream_table[0].data()) / kStreams;
}

// What a lazy stream has still to do.
class LazyQueue {
 public:
  void Put(std::function<void()> work) {
    std::lock_guard<std::mutex> lock(mutex_);
    work_.push_back(std::move(work));
  }
  uint64_t End() {
    std::lock_guard<std::mutex> lock(mutex_);
    return done_ + work_.size();
  }
  bool IsDone(uint64_t position) {
    std::lock_guard<std::mutex> lock(mutex_);
    return done_ >= position;
  }
  void RunUntil(uint64_t position) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (; done_ < position; ++done_) {
      work_.front()();
      work_.pop_front();
    }
  }

 private:
  std::mutex mutex_;
  std::deque<std::function<void()>> work_;
  uint64_t done_ = 0;
};
// Null for streams whose work is done at once.
LazyQueue* QueueOf(Stream stream) {
  static auto* queues = new std::array<std::array<LazyQueue, 2>, kDevices>;
  const int device = DeviceOf(stream);
  if (stream == GetStream(device, kCopyStream)) return &queues->at(device)[0];
  return stream == GetStream(device, kSideStream) ? &queues->at(device)[1] : nullptr;
}
bool IsSide(Stream stream) { return stream == GetStream(DeviceOf(stream), kSideStream); }

}  // namespace

int DeviceCount() { return kDevices; }
std::string DeviceProblem() { return ""; }

const DeviceProperties& Properties(int device) {
  static const DeviceProperties properties{"emulated GPU", 2, size_t{8} << 30};
  CAFFE_ENFORCE(device >= 0 && device < kDevices, "there is no device cuda:", device);
  return properties;
}

void SetDevice(int device) { current_device = device; }
DeviceGuard::DeviceGuard(int device) : before_(current_device) { current_device = device; }
DeviceGuard::~DeviceGuard() { current_device = before_; }

Stream GetStream(int device, int stream_id) {
  return reinterpret_cast<Stream>(&stream_table.at(device).at(stream_id));
}
void Synchronize(Stream stream) {
  CheckNotRecording("waiting for a stream");
  if (LazyQueue* queue = QueueOf(stream)) queue->RunUntil(queue->End());
}

Event::Event(int device) : event_(new CUevent_st{device}) {}
Event::~Event() { delete event_; }
void Event::Record(Stream stream) {
  CAFFE_ENFORCE_EQ(DeviceOf(stream), event_->device,
                   "an event of another device than the stream's");
  event_->queue = QueueOf(stream);
  if (event_->queue != nullptr) event_->position = event_->queue->End();
}
bool Event::Done() const {
  CheckNotRecording("asking for an event");
  return event_->queue == nullptr || event_->queue->IsDone(event_->position);
}
void Event::Synchronize() const {
  CheckNotRecording("waiting for an event");
  if (event_->queue != nullptr) event_->queue->RunUntil(event_->position);
}
void Event::Delay(Stream waiting) const {
  LazyQueue* queue = event_->queue;
  if (queue == nullptr || queue == QueueOf(waiting)) return;
  // What is recorded gets its place in the queue when the graph is launched.
  if (recording != nullptr) {
    recording->work.push_back([queue] { queue->RunUntil(queue->End()); });
  } else {
    queue->RunUntil(event_->position);
  }
}

bool IsRecorded(Stream stream) {
  return recording != nullptr && (stream == GetStream(recording->device, kComputeStream) ||
                                  stream == GetStream(recording->device, kSideStream));
}

namespace emulation {
void CheckStream(const char* kernel, Stream stream) {
  CAFFE_ENFORCE(stream == nullptr || DeviceOf(stream) == current_device, "kernel ", kernel,
                " is launched on a stream of device ", DeviceOf(stream), ", but device ",
                current_device, " is current");
}
void Perform(Stream stream, std::function<void()> work) {
  std::function<void()> start = std::move(work);
  if (stream != nullptr && IsSide(stream)) {
    start = [queue = QueueOf(stream), later = std::move(start)] { queue->Put(later); };
  }
  if (recording == nullptr) return start();
  recording->work.push_back(std::move(start));
}
}  // namespace emulation

void* Allocate(size_t nbytes, int device) {
  Pool& pool = PoolOf(device);
  std::lock_guard<std::mutex> lock(pool.mutex);
  if (nbytes > pool.total - pool.used) return nullptr;
  void* data = std::aligned_alloc(256, (nbytes + 255) / 256 * 256);
  if (data == nullptr) return nullptr;
  std::memset(data, 0xff, nbytes);  // NaN: whoever reads what nobody wrote is seen
  pool.blocks[data] = nbytes;
  pool.used += nbytes;
  pool.peak = std::max(pool.peak, pool.used);
  if (recording != nullptr) recording->in_use.insert(data);
  return data;
}

void Free(void* data, int device) {
  if (recording != nullptr) {
    if (recording->in_use.erase(data) != 0) {
      recording->idle.push_back(data);
    } else {
      recording->from_before.emplace_back(data, device);
    }
    return;
  }
  Pool& pool = PoolOf(device);
  std::lock_guard<std::mutex> lock(pool.mutex);
  const auto found = pool.blocks.find(data);
  CHECK(found != pool.blocks.end()) << "memory of another device, or freed twice";
  pool.used -= found->second;
  pool.blocks.erase(found);
  std::free(data);
}

void* AllocateOn(Stream /*stream*/, size_t nbytes, int device) { return Allocate(nbytes, device); }
void FreeOn(Stream stream, void* data, int device) {
  if (!IsRecorded(stream)) Synchronize(stream);
  Free(data, device);
}

FreeMemory MemoryOf(int device) {
  Pool& pool = PoolOf(device);
  std::lock_guard<std::mutex> lock(pool.mutex);
  return {pool.total - pool.used, pool.total, pool.peak};
}

void* AllocatePinned(size_t nbytes) { return std::malloc(nbytes); }
void FreePinned(void* data) { std::free(data); }

namespace {
// True if the address lies in memory of a device.
bool IsOfDevice(const void* data) {
  for (int device = 0; device < kDevices; ++device) {
    Pool& pool = PoolOf(device);
    std::lock_guard<std::mutex> lock(pool.mutex);
    auto block = pool.blocks.upper_bound(const_cast<void*>(data));
    if (block == pool.blocks.begin()) continue;
    --block;
    if (data < static_cast<char*>(block->first) + block->second) return true;
  }
  return false;
}
void CheckCopy(const void* destination, const void* source) {
  if (recording == nullptr || (IsOfDevice(destination) && IsOfDevice(source))) return;
  CheckNotRecording("a copy from or to the host");
}
}  // namespace

void CopyAsync(void* destination, const void* source, size_t nbytes, Stream stream) {
  CheckCopy(destination, source);
  const auto copy = [=] { std::memcpy(destination, source, nbytes); };
  if (stream == GetStream(DeviceOf(stream), kCopyStream)) return QueueOf(stream)->Put(copy);
  emulation::Perform(stream, copy);
}
void CopyRowsAsync(void* destination, size_t destination_stride, const void* source,
                   size_t source_stride, size_t row_bytes, size_t rows, Stream stream) {
  CheckCopy(destination, source);
  emulation::Perform(stream, [=] {
    for (size_t i = 0; i < rows; ++i) {
      std::memcpy(static_cast<char*>(destination) + i * destination_stride,
                  static_cast<const char*>(source) + i * source_stride, row_bytes);
    }
  });
}
void SetBytesAsync(void* destination, int value, size_t nbytes, Stream stream) {
  emulation::Perform(stream, [=] { std::memset(destination, value, nbytes); });
}

KernelReport* ReportOf(int device) {
  static std::array<KernelReport, kDevices> reports{};
  return &reports.at(device);
}

struct Graph::State {
  int device = 0;
  Recording memory;
  ~State() {
    for (void* data : memory.idle) Free(data, device);
  }
};

Graph::Graph(int device, const std::function<void()>& body) : state_(std::make_unique<State>()) {
  state_->device = state_->memory.device = device;
  recording = &state_->memory;
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  recording = nullptr;
  for (const auto& [data, owner] : state_->memory.from_before) Free(data, owner);
  if (error != nullptr) std::rethrow_exception(error);
  CAFFE_ENFORCE(state_->memory.in_use.empty(),
                "memory that outlives it was allocated while a CUDA graph was recorded");
}
Graph::~Graph() = default;
void Graph::Launch() {
  for (const auto& work : state_->memory.work) work();
}

}  // namespace caffe2::cuda

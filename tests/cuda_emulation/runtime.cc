// caffe2/cuda/runtime.h on the host, for tests without a GPU: three devices with ordinary memory.
// Work is done when a call returns, except on the copy stream, which is lazy: its work is done when
// somebody waits for it, so that a missing event shows. With the environment variable
// CUDA_EMULATION_ASYNC set, all streams are lazy, memory is freed in their order, and pinned memory
// is read and written when a copy is done. Code that reads, reuses or frees too early then gets
// wrong numbers. Device 1 has 1 MB of memory, so that running out can be tested.
#include "caffe2/cuda/runtime.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/graph.h"
#include "caffe2/cuda/kernel_reports.h"
#include "caffe2/cuda/stream_memory.h"
#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/lazy_queue.h"

// A mark in the work of a lazy stream. On other streams all work is done.
struct CUevent_st {
  int device = 0;
  caffe2::cuda::emulation::LazyQueue* queue = nullptr;
  uint64_t position = 0;
};

namespace caffe2::cuda {
namespace {

using emulation::LazyQueue;
using emulation::Work;

constexpr int kDevices = 3;

// True if all streams are lazy.
bool IsAsync() {
  static const bool async = std::getenv("CUDA_EMULATION_ASYNC") != nullptr;
  return async;
}

// Injected faults. The environment variable CUDA_EMULATION_FAULT names a file. While it says "hang
// 1", the work of device 1 does not go on; while it says "fail 1", it throws.
const char* FaultFile() {
  static const char* path = std::getenv("CUDA_EMULATION_FAULT");
  return path;
}
bool HasFault(const char* fault, int device) {
  std::ifstream file(FaultFile());
  std::string word;
  int number = -1;
  return file >> word >> number && word == fault && number == device;
}

struct Memory {
  size_t nbytes = 0;
  bool given_back = false;  // work may still use it
};
struct Pool {
  std::mutex mutex;
  std::map<void*, Memory> blocks;
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

// The work of a graph, and the memory that it owns.
struct Recording {
  int device = 0;
  std::vector<Work> work;
  std::vector<void*> idle;  // freed during the recording
  std::set<void*> in_use;
  std::vector<std::pair<void*, int>> from_before;
};
thread_local Recording* recording = nullptr;

void CheckNotRecording(const char* what) {
  if (recording != nullptr) throw Error(std::string(what) + " cannot be recorded in a CUDA graph");
}

// A stream is an entry of a table, from which its device follows.
constexpr int kStreams = 8;  // of a device
std::array<std::array<char, kStreams>, kDevices> stream_table;
int DeviceOf(Stream stream) {
  return static_cast<int>(reinterpret_cast<char*>(stream) - stream_table[0].data()) / kStreams;
}

struct DeviceQueues {
  std::recursive_mutex turn;
  std::deque<LazyQueue> queues;  // by stream
  DeviceQueues() {
    for (int i = 0; i < kStreams; ++i) queues.emplace_back(&turn);
  }
};
// Null for streams that are not lazy.
LazyQueue* QueueOf(Stream stream) {
  static auto* devices = new std::array<DeviceQueues, kDevices>;
  if (stream == nullptr) return nullptr;
  const int device = DeviceOf(stream);
  const int64_t id = reinterpret_cast<char*>(stream) - stream_table[device].data();
  if (!IsAsync() && id != kCopyStream) return nullptr;
  return &devices->at(device).queues[id];
}

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

Event::Event(int device) : event_(new CUevent_st) { event_->device = device; }
Event::~Event() { delete event_; }
void Event::Record(Stream stream) {
  CAFFE_ENFORCE_EQ(DeviceOf(stream), event_->device,
                   "an event of another device than the stream's");
  event_->queue = QueueOf(stream);
  if (event_->queue != nullptr) event_->position = event_->queue->End();
}
bool Event::Done() const {
  CheckNotRecording("asking for an event");
  if (event_->queue == nullptr || event_->queue->IsDone(event_->position)) return true;
  if (IsAsync()) event_->queue->Advance();
  return false;
}
void Event::Synchronize() const {
  CheckNotRecording("waiting for an event");
  if (event_->queue != nullptr) event_->queue->RunUntil(event_->position);
}
void Event::Delay(Stream waiting) const {
  LazyQueue* queue = event_->queue;
  if (queue == nullptr || queue == QueueOf(waiting)) return;
  if (recording != nullptr) {
    // Recorded work gets its place in the queue when the graph is launched; the launch itself is in
    // the compute stream's queue.
    if (queue == QueueOf(GetStream(event_->device, kComputeStream))) return;
    recording->work.push_back({[queue] { queue->RunUntil(queue->End()); }});
  } else if (IsAsync()) {
    QueueOf(waiting)->Put({[] {},
                           [queue, position = event_->position] {
                             if (!queue->IsDone(position)) queue->Advance();
                             return queue->IsDone(position);
                           }});
  } else {
    queue->RunUntil(event_->position);
  }
}

bool IsRecorded(Stream stream) {
  return recording != nullptr && stream == GetStream(recording->device, kComputeStream);
}

namespace emulation {
void CheckStream(const char* kernel, Stream stream) {
  CAFFE_ENFORCE(stream == nullptr || DeviceOf(stream) == current_device, "kernel ", kernel,
                " is launched on a stream of device ", DeviceOf(stream), ", but device ",
                current_device, " is current");
}
// `work`, which an injected fault of the stream's device stops.
static Work WithFaults(Stream stream, std::function<void()> work) {
  if (FaultFile() == nullptr || stream == nullptr) return {std::move(work)};
  const int device = DeviceOf(stream);
  const bool is_lazy = QueueOf(stream) != nullptr;
  const auto run = [device, is_lazy, work = std::move(work)] {
    while (!is_lazy && HasFault("hang", device)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (HasFault("fail", device)) throw Error("CUDA: an illegal memory access was encountered");
    work();
  };
  if (!is_lazy) return {run};
  return {run, [device] { return !HasFault("hang", device); }};
}
void Perform(Stream stream, std::function<void()> work) {
  Work piece = WithFaults(stream, std::move(work));
  if (recording != nullptr) return recording->work.push_back(std::move(piece));
  if (LazyQueue* queue = QueueOf(stream)) return queue->Put(std::move(piece));
  piece.run();
}
void PerformWhen(Stream stream, std::function<bool()> ready) {
  Work wait{[] {}, std::move(ready)};
  if (recording != nullptr) return recording->work.push_back(std::move(wait));
  QueueOf(stream)->Put(std::move(wait));
}
void AdvanceStream(Stream stream) {
  if (LazyQueue* queue = QueueOf(stream)) queue->Advance();
}
void Finish(int device) { Synchronize(GetStream(device, kComputeStream)); }
bool RunsAhead() { return IsAsync(); }
}  // namespace emulation

void* Allocate(size_t nbytes, int device) {
  Pool& pool = PoolOf(device);
  std::lock_guard<std::mutex> lock(pool.mutex);
  if (nbytes > pool.total - pool.used) return nullptr;
  void* data = std::aligned_alloc(256, (nbytes + 255) / 256 * 256);
  if (data == nullptr) return nullptr;
  std::memset(data, 0xff, nbytes);  // NaN: shows reads of uninitialised memory
  pool.blocks[data] = {nbytes};
  pool.used += nbytes;
  pool.peak = std::max(pool.peak, pool.used);
  if (recording != nullptr) recording->in_use.insert(data);
  return data;
}

namespace {
// Frees memory after the work of the stream.
void GiveBack(Stream stream, void* data, int device) {
  Pool& pool = PoolOf(device);
  {
    std::lock_guard<std::mutex> lock(pool.mutex);
    const auto found = pool.blocks.find(data);
    CHECK(found != pool.blocks.end() && !found->second.given_back)
        << "memory of another device, or freed twice";
    found->second.given_back = true;
    pool.used -= found->second.nbytes;
  }
  const auto release = [&pool, data] {
    std::lock_guard<std::mutex> lock(pool.mutex);
    const auto found = pool.blocks.find(data);
    std::memset(data, 0xff, found->second.nbytes);  // shows reads after the free
    pool.blocks.erase(found);
    std::free(data);
  };
  LazyQueue* queue = QueueOf(stream);
  if (queue == nullptr) return release();
  queue->Put({release});
}
bool IsGivenBackToRecording(void* data, int device) {
  if (recording == nullptr) return false;
  if (recording->in_use.erase(data) != 0) {
    recording->idle.push_back(data);
  } else {
    recording->from_before.emplace_back(data, device);
  }
  return true;
}
}  // namespace

void Free(void* data, int device) {
  if (IsGivenBackToRecording(data, device)) return;
  GiveBack(GetStream(device, kComputeStream), data, device);
}

void* AllocateOn(Stream /*stream*/, size_t nbytes, int device) { return Allocate(nbytes, device); }
void FreeOn(Stream stream, void* data, int device) {
  if (!IsGivenBackToRecording(data, device)) GiveBack(stream, data, device);
}

FreeMemory MemoryOf(int device) {
  Pool& pool = PoolOf(device);
  std::lock_guard<std::mutex> lock(pool.mutex);
  return {pool.total - pool.used, pool.total, pool.peak};
}

namespace {
// End addresses of blocks of page-locked memory, by their start.
struct PinnedMemory {
  std::mutex mutex;
  std::map<const char*, const char*> ends;
};
PinnedMemory& Pinned() {
  static auto* memory = new PinnedMemory;
  return *memory;
}
bool IsPinned(const void* data) {
  PinnedMemory& pinned = Pinned();
  std::lock_guard<std::mutex> lock(pinned.mutex);
  const auto* place = static_cast<const char*>(data);
  auto after = pinned.ends.upper_bound(place);
  return after != pinned.ends.begin() && place < std::prev(after)->second;
}
}  // namespace

void* AllocatePinned(size_t nbytes) {
  auto* data = static_cast<char*>(std::malloc(nbytes));
  std::lock_guard<std::mutex> lock(Pinned().mutex);
  Pinned().ends[data] = data + nbytes;
  return data;
}
void FreePinned(void* data) {
  // CUDA waits for all devices first.
  for (int device = 0; IsAsync() && device < kDevices; ++device) {
    for (int id = 0; id < kStreams; ++id) Synchronize(GetStream(device, id));
  }
  {
    std::lock_guard<std::mutex> lock(Pinned().mutex);
    Pinned().ends.erase(static_cast<char*>(data));
  }
  std::free(data);
}

namespace {
// True if the address lies in memory of a device.
bool IsOfDevice(const void* data) {
  for (int device = 0; device < kDevices; ++device) {
    Pool& pool = PoolOf(device);
    std::lock_guard<std::mutex> lock(pool.mutex);
    auto block = pool.blocks.upper_bound(const_cast<void*>(data));
    if (block == pool.blocks.begin()) continue;
    --block;
    if (data < static_cast<char*>(block->first) + block->second.nbytes) return true;
  }
  return false;
}
void CheckCopy(const void* destination, const void* source) {
  if (recording == nullptr || (IsOfDevice(destination) && IsOfDevice(source))) return;
  CheckNotRecording("a copy from or to the host");
}
}  // namespace

namespace {
// Copies between any two places; `copy` does it, given the source. If all streams are lazy, a copy
// from or to pageable memory is done on the host side when the call returns.
void Copy(const void* destination, const void* source, size_t source_bytes, Stream stream,
          std::function<void(const void* source)> copy) {
  CheckCopy(destination, source);
  const bool apart = stream == GetStream(DeviceOf(stream), kCopyStream);  // never recorded
  if (apart && !IsAsync()) {
    return QueueOf(stream)->Put({[source, copy = std::move(copy)] { copy(source); }});
  }
  if (!IsAsync() || (recording != nullptr && !apart)) {
    return emulation::Perform(stream, [source, copy = std::move(copy)] { copy(source); });
  }
  if (!IsOfDevice(source) && !IsPinned(source)) {
    const auto* bytes = static_cast<const char*>(source);
    return QueueOf(stream)->Put({[kept = std::vector<char>(bytes, bytes + source_bytes),
                                  copy = std::move(copy)] { copy(kept.data()); }});
  }
  QueueOf(stream)->Put({[source, copy = std::move(copy)] { copy(source); }});
  if (!IsOfDevice(destination) && !IsPinned(destination)) Synchronize(stream);
}
}  // namespace

void CopyAsync(void* destination, const void* source, size_t nbytes, Stream stream) {
  Copy(destination, source, nbytes, stream,
       [=](const void* from) { std::memcpy(destination, from, nbytes); });
}
void CopyRowsAsync(void* destination, size_t destination_stride, const void* source,
                   size_t source_stride, size_t row_bytes, size_t rows, Stream stream) {
  if (rows == 0) return;
  Copy(destination, source, (rows - 1) * source_stride + row_bytes, stream, [=](const void* from) {
    for (size_t i = 0; i < rows; ++i) {
      std::memcpy(static_cast<char*>(destination) + i * destination_stride,
                  static_cast<const char*>(from) + i * source_stride, row_bytes);
    }
  });
}
void SetBytesAsync(void* destination, int value, size_t nbytes, Stream stream) {
  emulation::Perform(stream, [=] { std::memset(destination, value, nbytes); });
}

KernelReport* ReportsOf(int device) {
  static std::array<std::array<KernelReport, kReports>, kDevices> reports{};
  return reports.at(device).data();
}

struct Graph::State {
  int device = 0;
  std::shared_ptr<Recording> memory = std::make_shared<Recording>();
  ~State() {
    for (void* data : memory->idle) Free(data, device);
  }
};

Graph::Graph(int device, const std::function<void()>& body) : state_(std::make_unique<State>()) {
  state_->device = state_->memory->device = device;
  recording = state_->memory.get();
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  recording = nullptr;
  for (const auto& [data, owner] : state_->memory->from_before) Free(data, owner);
  if (error != nullptr) std::rethrow_exception(error);
  CAFFE_ENFORCE(
      state_->memory->in_use.empty(),
      "memory that was allocated while a CUDA graph was recorded is still in use at its end");
}
Graph::~Graph() = default;
void Graph::Launch() {
  const Stream stream = GetStream(state_->device, kComputeStream);
  LazyQueue* queue = QueueOf(stream);
  if (queue == nullptr) {
    for (const Work& work : state_->memory->work) work.run();
    return;
  }
  // Piece by piece, because a piece may have to wait for another device.
  queue->PutAll(state_->memory->work);
}

}  // namespace caffe2::cuda

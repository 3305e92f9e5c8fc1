#include "caffe2/cuda/runtime.h"

#include <cuda_runtime_api.h>

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/graph.h"
#include "caffe2/cuda/kernel_reports.h"
#include "caffe2/cuda/stream_memory.h"

namespace caffe2::cuda {
namespace {

void Check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) [[likely]]
    return;
  cudaGetLastError();  // clears the error, unless it is a sticky one
  throw Error(MakeString(call, ": ", cudaGetErrorString(status), " (", cudaGetErrorName(status),
                         "); it may come from work launched earlier"));
}
#define CHECK_CUDA(call) Check((call), #call)

std::string Version(int version) { return MakeString(version / 1000, ".", version % 1000 / 10); }

struct DeviceList {
  int count = 0;
  std::string problem;

  DeviceList() {
    int driver = 0, toolkit = 0, found = 0;
    cudaRuntimeGetVersion(&toolkit);
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
      cudaGetLastError();
      problem = "no NVIDIA driver is installed on this machine";
      return;
    }
    // A toolkit runs on any driver of the same major version.
    if (driver / 1000 < toolkit / 1000) {
      problem = MakeString("the NVIDIA driver supports CUDA ", Version(driver),
                           ", which is older than the CUDA ", Version(toolkit),
                           " this program was built with; update the driver");
      return;
    }
    const cudaError_t status = cudaGetDeviceCount(&found);
    if (status != cudaSuccess || found == 0) {
      cudaGetLastError();
      problem = status == cudaSuccess
                    ? "the NVIDIA driver sees no GPU"
                    : MakeString("no GPU can be used: ", cudaGetErrorString(status));
      return;
    }
    count = found;
  }
};

const DeviceList& Devices() {
  static const DeviceList devices;
  return devices;
}

using Streams = std::map<int, cudaStream_t>;  // of one device, by number

// Everything that this process keeps for one device. Made once, never destroyed: the driver may be
// unloaded before static objects are destroyed.
struct DeviceState {
  DeviceProperties properties;
  cudaMemPool_t pool = nullptr;
  KernelReport* reports = nullptr;
  std::mutex mutex;
  Streams streams;
  cudaStream_t compute = nullptr;
  std::vector<Streams> for_recording;  // not in use by a recording
};

// The device that the thread has made current, or -1. A thread that has never chosen one keeps the
// device that its first guard sets: going back to device 0 would create a context there.
thread_local int current_device = -1;

// Makes a stream of the current device.
cudaStream_t MakeStream() {
  cudaStream_t stream = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

// Lets kernels and copies of the other devices reach the pool's memory if the hardware can.
void ShareWithPeers(cudaMemPool_t pool, int device) {
  for (int peer = 0; peer < Devices().count; ++peer) {
    int reachable = 0;
    if (peer == device) continue;
    CHECK_CUDA(cudaDeviceCanAccessPeer(&reachable, peer, device));
    if (reachable == 0) continue;
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = peer;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    CHECK_CUDA(cudaMemPoolSetAccess(pool, &access, 1));
  }
}

std::unique_ptr<DeviceState> MakeState(int device) {
  auto state = std::make_unique<DeviceState>();
  cudaDeviceProp properties;
  CHECK_CUDA(cudaGetDeviceProperties(&properties, device));
  state->properties = {properties.name, properties.multiProcessorCount, properties.totalGlobalMem};
  const DeviceGuard guard(device);
  state->compute = MakeStream();
  state->streams[kComputeStream] = state->compute;
  CHECK_CUDA(cudaDeviceGetDefaultMemPool(&state->pool, device));
  uint64_t keep_all = UINT64_MAX;
  CHECK_CUDA(cudaMemPoolSetAttribute(state->pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
  ShareWithPeers(state->pool, device);
  void* reports = nullptr;
  CHECK_CUDA(cudaHostAlloc(&reports, kReports * sizeof(KernelReport), cudaHostAllocMapped));
  state->reports = static_cast<KernelReport*>(reports);
  std::uninitialized_value_construct_n(state->reports, kReports);
  return state;
}

DeviceState& State(int device) {
  static std::mutex mutex;
  static auto* states = new std::vector<DeviceState*>(Devices().count, nullptr);
  std::lock_guard<std::mutex> lock(mutex);
  CAFFE_ENFORCE(device >= 0 && device < static_cast<int>(states->size()),
                "there is no device cuda:", device, "; this machine has ", states->size());
  DeviceState*& state = (*states)[device];
  if (state == nullptr) state = MakeState(device).release();
  return *state;
}

// Null if there is not enough.
void* AllocateFromPool(size_t nbytes, cudaMemPool_t pool, cudaStream_t stream) {
  void* data = nullptr;
  const cudaError_t status = cudaMallocFromPoolAsync(&data, nbytes, pool, stream);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  Check(status, "cudaMallocFromPoolAsync");
  return data;
}

void FreeToPool(void* data, cudaStream_t stream) {
  // Static objects may free tensors after the driver is unloaded; the memory is gone then.
  const cudaError_t status = cudaFreeAsync(data, stream);
  if (status != cudaSuccess && status != cudaErrorCudartUnloading) {
    LOG(ERROR) << "cudaFreeAsync: " << cudaGetErrorString(status);
  }
}

// A recording in progress. Work is recorded in streams of its own, which replace the device's
// streams for this thread; other threads go on with the device's. Memory that is freed during the
// recording goes to later work of the same stream, in the order of the recording, and stays with
// the graph.
struct Recording {
  int device = 0;
  Streams streams;
  std::map<cudaStream_t, std::multimap<size_t, void*>> idle;  // by size
  std::map<void*, size_t> in_use;
  std::vector<void*> from_before;  // allocated before, freed meanwhile: the pool gets it at the end
};
thread_local Recording* recording = nullptr;
bool IsRecording(int device) { return recording != nullptr && recording->device == device; }

// Memory for `user`, a stream that is recorded. It is allocated on another stream, because this one
// would record the allocation.
void* AllocateForRecording(cudaStream_t user, size_t nbytes, cudaMemPool_t pool) {
  auto& blocks = recording->idle[user];
  const auto idle = blocks.lower_bound(nbytes);
  if (idle != blocks.end()) {
    void* data = idle->second;
    recording->in_use[data] = idle->first;
    blocks.erase(idle);
    return data;
  }
  const Stream stream = GetStream(recording->device, kCopyStream);
  void* data = AllocateFromPool(nbytes, pool, stream);
  if (data == nullptr) return nullptr;
  recording->in_use[data] = nbytes;
  CHECK_CUDA(cudaStreamSynchronize(stream));
  return data;
}

void FreeInRecording(cudaStream_t user, void* data) {
  const auto block = recording->in_use.find(data);
  if (block == recording->in_use.end()) {
    recording->from_before.push_back(data);
    return;
  }
  recording->idle[user].emplace(block->second, data);
  recording->in_use.erase(block);
}

// Host memory is read and written when a graph runs, not when it is recorded.
void CheckRecordable(const void* data) {
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, data));
  if (attributes.type != cudaMemoryTypeDevice) {
    throw Error("copies from and to the host cannot be recorded in a CUDA graph");
  }
}

}  // namespace

int DeviceCount() { return Devices().count; }
std::string DeviceProblem() { return Devices().problem; }
const DeviceProperties& Properties(int device) { return State(device).properties; }

void SetDevice(int device) {
  CHECK_CUDA(cudaSetDevice(device));
  current_device = device;
}

DeviceGuard::DeviceGuard(int device) : before_(current_device) {
  if (before_ != device) SetDevice(device);
}
DeviceGuard::~DeviceGuard() {
  if (before_ < 0 || before_ == current_device) return;
  current_device = before_;
  const cudaError_t status = cudaSetDevice(before_);
  if (status != cudaSuccess) LOG(ERROR) << "cudaSetDevice: " << cudaGetErrorString(status);
}

namespace {
cudaStream_t StreamOf(Streams* streams, int device, int stream_id) {
  cudaStream_t& stream = (*streams)[stream_id];
  if (stream == nullptr) {
    const DeviceGuard guard(device);
    stream = MakeStream();
  }
  return stream;
}
}  // namespace

Stream GetStream(int device, int stream_id) {
  // The copy stream is never recorded: AllocateForRecording uses it.
  if (IsRecording(device) && stream_id != kCopyStream) {
    return StreamOf(&recording->streams, device, stream_id);
  }
  DeviceState& state = State(device);
  if (stream_id == kComputeStream) return state.compute;
  std::lock_guard<std::mutex> lock(state.mutex);
  return StreamOf(&state.streams, device, stream_id);
}

void Synchronize(Stream stream) { CHECK_CUDA(cudaStreamSynchronize(stream)); }

Event::Event(int device) {
  const DeviceGuard guard(device);
  CHECK_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}
Event::~Event() {
  // Streams that still wait for the event keep what they need of it.
  const cudaError_t status = cudaEventDestroy(event_);
  if (status != cudaSuccess && status != cudaErrorCudartUnloading) {
    LOG(ERROR) << "cudaEventDestroy: " << cudaGetErrorString(status);
  }
}
void Event::Record(Stream stream) { CHECK_CUDA(cudaEventRecord(event_, stream)); }
bool Event::Done() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  Check(status, "cudaEventQuery");
  return true;
}
void Event::Synchronize() const { CHECK_CUDA(cudaEventSynchronize(event_)); }
void Event::Delay(Stream waiting) const { CHECK_CUDA(cudaStreamWaitEvent(waiting, event_, 0)); }

bool IsRecorded(Stream stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CHECK_CUDA(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

double MillisecondsOf(Stream stream, const std::function<void()>& body) {
  const auto make = [] {
    cudaEvent_t event = nullptr;
    CHECK_CUDA(cudaEventCreate(&event));
    return std::unique_ptr<CUevent_st, cudaError_t (*)(cudaEvent_t)>(event, cudaEventDestroy);
  };
  const auto begin = make(), end = make();
  CHECK_CUDA(cudaEventRecord(begin.get(), stream));
  body();
  CHECK_CUDA(cudaEventRecord(end.get(), stream));
  CHECK_CUDA(cudaEventSynchronize(end.get()));
  float milliseconds = 0;
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
  return milliseconds;
}

void* Allocate(size_t nbytes, int device) {
  DeviceState& state = State(device);
  const DeviceGuard guard(device);
  if (IsRecording(device)) return AllocateForRecording(state.compute, nbytes, state.pool);
  return AllocateFromPool(nbytes, state.pool, state.compute);
}

void Free(void* data, int device) {
  if (IsRecording(device)) {
    FreeInRecording(State(device).compute, data);
    return;
  }
  FreeToPool(data, State(device).compute);
}

void* AllocateOn(Stream stream, size_t nbytes, int device) {
  DeviceState& state = State(device);
  const DeviceGuard guard(device);
  return AllocateFromPool(nbytes, state.pool, stream);
}

void FreeOn(Stream stream, void* data, int /*device*/) { FreeToPool(data, stream); }

FreeMemory MemoryOf(int device) {
  DeviceState& state = State(device);
  const DeviceGuard guard(device);
  FreeMemory memory;
  CHECK_CUDA(cudaMemGetInfo(&memory.free, &memory.total));
  uint64_t reserved = 0, used = 0, peak = 0;
  CHECK_CUDA(cudaMemPoolGetAttribute(state.pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  CHECK_CUDA(cudaMemPoolGetAttribute(state.pool, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK_CUDA(cudaMemPoolGetAttribute(state.pool, cudaMemPoolAttrUsedMemHigh, &peak));
  memory.free += reserved - used;
  memory.peak = peak;
  return memory;
}

void* AllocatePinned(size_t nbytes) {
  void* data = nullptr;
  CHECK_CUDA(cudaHostAlloc(&data, nbytes, cudaHostAllocPortable));
  return data;
}

void FreePinned(void* data) {
  const cudaError_t status = cudaFreeHost(data);
  if (status != cudaSuccess && status != cudaErrorCudartUnloading) {
    LOG(ERROR) << "cudaFreeHost: " << cudaGetErrorString(status);
  }
}

void CopyAsync(void* destination, const void* source, size_t nbytes, Stream stream) {
  if (recording != nullptr) {
    CheckRecordable(destination);
    CheckRecordable(source);
  }
  CHECK_CUDA(cudaMemcpyAsync(destination, source, nbytes, cudaMemcpyDefault, stream));
}

void CopyRowsAsync(void* destination, size_t destination_stride, const void* source,
                   size_t source_stride, size_t row_bytes, size_t rows, Stream stream) {
  if (recording != nullptr) {
    CheckRecordable(destination);
    CheckRecordable(source);
  }
  CHECK_CUDA(cudaMemcpy2DAsync(destination, destination_stride, source, source_stride, row_bytes,
                               rows, cudaMemcpyDefault, stream));
}

void SetBytesAsync(void* destination, int value, size_t nbytes, Stream stream) {
  if (nbytes > 0) CHECK_CUDA(cudaMemsetAsync(destination, value, nbytes, stream));
}

// Declared in launch.h, which only nvcc can read.
void CheckLaunch(const char* name, int status);
void CheckLaunch(const char* name, int status) { Check(static_cast<cudaError_t>(status), name); }

KernelReport* ReportsOf(int device) { return State(device).reports; }

struct Graph::State {
  cudaStream_t stream = nullptr;
  cudaGraphExec_t executable = nullptr;
  Recording memory;

  ~State() {
    const cudaError_t status =
        executable != nullptr ? cudaGraphExecDestroy(executable) : cudaSuccess;
    if (status != cudaSuccess && status != cudaErrorCudartUnloading) {
      LOG(ERROR) << "cudaGraphExecDestroy: " << cudaGetErrorString(status);
    }
    for (const auto& [stream, blocks] : memory.idle) {
      for (const auto& [size, data] : blocks) Free(data, memory.device);
    }
  }
};

namespace {
// Streams for a recording. They are returned and reused, because streams live for ever.
class BorrowedStreams {
 public:
  explicit BorrowedStreams(Recording* user) : user_(user), state_(State(user->device)) {
    std::lock_guard<std::mutex> lock(state_.mutex);
    if (state_.for_recording.empty()) return;
    user_->streams = std::move(state_.for_recording.back());
    state_.for_recording.pop_back();
  }
  ~BorrowedStreams() {
    std::lock_guard<std::mutex> lock(state_.mutex);
    state_.for_recording.push_back(std::move(user_->streams));
  }
  BorrowedStreams(const BorrowedStreams&) = delete;
  BorrowedStreams& operator=(const BorrowedStreams&) = delete;

 private:
  Recording* const user_;
  DeviceState& state_;
};
}  // namespace

Graph::Graph(int device, const std::function<void()>& body) : state_(std::make_unique<State>()) {
  CAFFE_ENFORCE(recording == nullptr,
                "a CUDA graph cannot be recorded while the thread records another one");
  const DeviceGuard guard(device);
  state_->memory.device = device;
  state_->stream = GetStream(device, kComputeStream);
  const BorrowedStreams borrowed(&state_->memory);
  const cudaStream_t stream = StreamOf(&state_->memory.streams, device, kComputeStream);
  // Relaxed: the thread may use other streams, for example to allocate.
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  recording = &state_->memory;
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  recording = nullptr;
  cudaGraph_t graph = nullptr;
  const cudaError_t status = cudaStreamEndCapture(stream, &graph);
  const std::unique_ptr<CUgraph_st, cudaError_t (*)(cudaGraph_t)> owner(graph, cudaGraphDestroy);
  for (void* data : state_->memory.from_before) Free(data, device);
  if (error != nullptr) {
    cudaGetLastError();
    std::rethrow_exception(error);
  }
  Check(status, "cudaStreamEndCapture");
  CAFFE_ENFORCE(
      state_->memory.in_use.empty(),
      "memory that was allocated while a CUDA graph was recorded is still in use at its end");
  CHECK_CUDA(cudaGraphInstantiate(&state_->executable, graph, 0));
}

Graph::~Graph() = default;

void Graph::Launch() {
  const DeviceGuard guard(state_->memory.device);
  CHECK_CUDA(cudaGraphLaunch(state_->executable, state_->stream));
}

}  // namespace caffe2::cuda

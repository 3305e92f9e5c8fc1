#include "tests/cuda_runtime/fake_cuda.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

struct CUgraph_st {
  CUstream_st* origin = nullptr;
  bool valid = true;
  std::vector<std::function<void()>> work;
  std::map<CUstream_st*, int> branches;  // streams that take part: how much work each has got
  std::map<CUstream_st*, int> joined;    // how much of it the origin waits for
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
};
struct CUstream_st {
  int device = 0;
  CUgraph_st* recorder = nullptr;
};
struct CUevent_st {
  int device = 0;
  bool recorded = false;
  CUgraph_st* recorder = nullptr;  // of the stream it was set in, if that was recorded
  CUstream_st* stream = nullptr;
  int position = 0;
};
struct CUmemPoolHandle_st {};

namespace {

constexpr int kDevices = 2;

std::recursive_mutex mutex;
thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;
CUmemPoolHandle_st pools[kDevices];
std::map<void*, size_t> on_device, pinned;
size_t limit = SIZE_MAX;
std::vector<std::string> violations;

cudaError_t Return(cudaError_t status) {
  if (status != cudaSuccess) last = status;
  return status;
}

bool Contains(const std::map<void*, size_t>& blocks, const void* data) {
  auto block = blocks.upper_bound(const_cast<void*>(data));
  if (block == blocks.begin()) return false;
  --block;
  return data < static_cast<char*>(block->first) + block->second;
}

// Done now, or when the graph runs.
cudaError_t Put(CUstream_st* stream, std::function<void()> work) {
  if (stream->recorder == nullptr) {
    work();
    return cudaSuccess;
  }
  if (!stream->recorder->valid) return Return(cudaErrorStreamCaptureInvalidated);
  stream->recorder->work.push_back(std::move(work));
  ++stream->recorder->branches[stream];
  return cudaSuccess;
}

cudaError_t Spoil(CUgraph_st* graph, cudaError_t status) {
  graph->valid = false;
  return Return(status);
}

cudaError_t Copy(CUstream_st* stream, const void* to, const void* from,
                 std::function<void()> work) {
  if (stream->recorder != nullptr && !(Contains(on_device, to) && Contains(on_device, from))) {
    violations.emplace_back("a copy from or to the host is recorded");
  }
  return Put(stream, std::move(work));
}

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

namespace caffe2::cuda::fake {
std::vector<std::string> TakeViolations() {
  const Lock lock(mutex);
  return std::exchange(violations, {});
}
int LiveBlocks() {
  const Lock lock(mutex);
  return static_cast<int>(on_device.size());
}
void LimitMemory(size_t bytes) { limit = bytes; }
}  // namespace caffe2::cuda::fake

extern "C" {

const char* cudaGetErrorName(cudaError_t) { return "cudaErrorName"; }
const char* cudaGetErrorString(cudaError_t status) {
  return status == cudaErrorInvalidValue ? "invalid argument" : "some error";
}
cudaError_t cudaGetLastError() { return std::exchange(last, cudaSuccess); }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = kDevices, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return Return(cudaErrorInvalidDevice);
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) { return *device = current, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "fake %d", device);
  properties->multiProcessorCount = 3;
  properties->totalGlobalMem = 1000;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return *can = device != peer, cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return *pool = &pools[device], cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  *static_cast<uint64_t*>(value) = attribute == cudaMemPoolAttrReservedMemCurrent ? 70 : 30;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t) {
  return access->location.type == cudaMemLocationTypeDevice && pool != &pools[access->location.id]
             ? cudaSuccess
             : Return(cudaErrorInvalidValue);
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return *free = 100, *total = 1000, cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void** data, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  const Lock lock(mutex);
  if (stream->recorder != nullptr) violations.emplace_back("an allocation is recorded");
  if (bytes == 0) violations.emplace_back("nothing is allocated");
  if (bytes > limit) return Return(cudaErrorMemoryAllocation);
  *data = std::malloc(bytes);
  on_device[*data] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  const Lock lock(mutex);
  if (stream->recorder != nullptr) violations.emplace_back("a release is recorded");
  if (on_device.erase(data) == 0) return Return(cudaErrorInvalidValue);
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  const Lock lock(mutex);
  *data = std::malloc(bytes);
  pinned[*data] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  const Lock lock(mutex);
  if (pinned.erase(data) == 0) return Return(cudaErrorInvalidValue);
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  const Lock lock(mutex);
  *attributes = {};
  attributes->type = Contains(on_device, data) ? cudaMemoryTypeDevice
                     : Contains(pinned, data)  ? cudaMemoryTypeHost
                                               : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  const Lock lock(mutex);
  if (to == nullptr || from == nullptr) return Return(cudaErrorInvalidValue);
  return Copy(stream, to, from, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
  const Lock lock(mutex);
  if (width > to_pitch || width > from_pitch) return Return(cudaErrorInvalidPitchValue);
  return Copy(stream, to, from, [=] {
    for (size_t i = 0; i < height; ++i) {
      std::memcpy(static_cast<char*>(to) + i * to_pitch,
                  static_cast<const char*>(from) + i * from_pitch, width);
    }
  });
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  const Lock lock(mutex);
  return Put(stream, [=] { std::memset(to, value, bytes); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) violations.emplace_back("a stream that blocks");
  *stream = new CUstream_st{current};
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(mutex);
  if (stream->recorder == nullptr) return cudaSuccess;
  return Spoil(stream->recorder, cudaErrorStreamCaptureUnsupported);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Lock lock(mutex);
  *status = stream->recorder == nullptr ? cudaStreamCaptureStatusNone
            : stream->recorder->valid   ? cudaStreamCaptureStatusActive
                                        : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(mutex);
  CUgraph_st *mine = stream->recorder, *its = event->recorder;
  if (!event->recorded || mine == its) {
    if (mine == nullptr || !event->recorded) return cudaSuccess;
    if (stream == mine->origin) {
      mine->joined[event->stream] = std::max(mine->joined[event->stream], event->position);
    }
    return cudaSuccess;
  }
  if (its == nullptr) return Spoil(mine, cudaErrorStreamCaptureIsolation);
  if (mine != nullptr) return Spoil(mine, cudaErrorStreamCaptureMerge);
  stream->recorder = its;
  its->branches[stream] = 1;  // the fork itself
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{current};
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(mutex);
  if (event->device != stream->device) return Return(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->recorder = stream->recorder;
  event->stream = stream;
  if (stream->recorder != nullptr) event->position = stream->recorder->branches[stream];
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(mutex);
  return event->recorder == nullptr ? cudaSuccess : Return(cudaErrorCapturedEvent);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  return *milliseconds = 2.5f, cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const Lock lock(mutex);
  if (mode != cudaStreamCaptureModeRelaxed) violations.emplace_back("other threads are disturbed");
  if (stream->recorder != nullptr) return Return(cudaErrorIllegalState);
  stream->recorder = new CUgraph_st;
  stream->recorder->origin = stream;
  stream->recorder->branches[stream] = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* result) {
  const Lock lock(mutex);
  CUgraph_st* graph = stream->recorder;
  if (graph == nullptr || graph->origin != stream) return Return(cudaErrorIllegalState);
  bool joined = true;
  for (const auto& [branch, position] : graph->branches) {
    branch->recorder = nullptr;
    joined = joined && (branch == stream || graph->joined[branch] == position);
  }
  *result = nullptr;  // events may still name the graph: it stays
  if (!graph->valid) return Return(cudaErrorStreamCaptureInvalidated);
  if (!joined) return Return(cudaErrorStreamCaptureUnjoined);
  *result = graph;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  *executable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return delete executable, cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(mutex);
  if (stream->recorder != nullptr) violations.emplace_back("the launch of a graph is recorded");
  for (const auto& work : executable->work) work();
  return cudaSuccess;
}

}  // extern "C"

// Devices, streams, memory and copies: everything the host code of the backend asks of CUDA.
//
// Every function throws Error with CUDA's own text and the name of the call that failed. Errors of
// kernels that ran earlier may appear at any call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Number of devices; 0 if there is no driver or it is older than the toolkit.
int DeviceCount();
// Why DeviceCount is 0, in one line; empty if it is not.
std::string DeviceProblem();

struct DeviceProperties {
  std::string name;
  int multiprocessors = 0;
  size_t total_memory = 0;  // bytes
};
const DeviceProperties& Properties(int device);

// Makes the device current for the calling thread: kernels are launched on it. No other function
// here changes which one is current for a thread that has called this.
void SetDevice(int device);
// The same until it goes out of scope.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  const int before_;
};

// Streams of a device by number, made when first asked for. All live for ever. A thread that
// records a graph (graph.h) gets those of the recording instead: ask again each time.
enum StreamId { kComputeStream, kCopyStream, kCommunicationStream };
Stream GetStream(int device, int stream_id);
void Synchronize(Stream stream);

// A mark in the work of one device, which can be set again and again. Used by one thread at a time.
class Event {
 public:
  explicit Event(int device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Marks what `stream`, one of this device, holds now.
  void Record(Stream stream);
  // True if all that was marked is done, or nothing was. Throws what went wrong in it.
  bool Done() const;
  void Synchronize() const;  // waits until Done()
  // `waiting`, of any device, goes on only when all that is marked is done.
  void Delay(Stream waiting) const;

 private:
  CUevent_st* event_ = nullptr;
};

// True while a Graph (graph.h) records what is put into the stream, which is not done then.
bool IsRecorded(Stream stream);
// How long the device takes for what `body` puts into the stream, one of the current device; waits
// for it.
double MillisecondsOf(Stream stream, const std::function<void()>& body);

// Memory of a device from its stream-ordered pool. Null if there is not enough.
void* Allocate(size_t nbytes, int device);
// Given out again to work that is launched later on the compute stream.
void Free(void* data, int device);
struct FreeMemory {
  size_t free = 0, total = 0;  // bytes; what the pool keeps unused counts as free
  size_t peak = 0;             // the most of the pool that was in use at a time
};
FreeMemory MemoryOf(int device);

// Page-locked host memory, which devices read and write without a detour and at the same address.
void* AllocatePinned(size_t nbytes);
void FreePinned(void* data);

// Between any two places, in stream order. The host side of a copy from pageable memory may be
// reused when the call returns; of pinned memory, and of any destination, when the stream is done.
void CopyAsync(void* destination, const void* source, size_t nbytes, Stream stream);
// `rows` rows of `row_bytes`, which lie so many bytes apart; on one device.
void CopyRowsAsync(void* destination, size_t destination_stride, const void* source,
                   size_t source_stride, size_t row_bytes, size_t rows, Stream stream);
void SetBytesAsync(void* destination, int value, size_t nbytes, Stream stream);

// What kernels report that only they can see, in pinned memory, by operator (kernel_reports.h):
// written by the first thread that finds something, read and cleared after a synchronisation.
struct KernelReport {
  enum Kind : int32_t {
    kNone,
    kLabelOutOfRange,
    kDivisionByZero,
    kLabelSum,
    kNegativeLabel,
    kIndexOutOfRange,  // the index `value` at position `row`, for `classes` rows
    kLengths,          // lengths that are negative or do not add up to `classes`
  };
  int32_t kind;
  int32_t label;
  int64_t row, classes;
  double value;
};
KernelReport* ReportOf(int device);

}  // namespace caffe2::cuda

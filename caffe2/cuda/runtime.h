// Devices, streams, memory and copies: everything that the host code of the backend needs from
// CUDA.
//
// Every function throws Error with CUDA's own text and the name of the call that failed. A call may
// also throw the error of a kernel that was launched earlier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Number of devices. 0 if there is no driver or it is older than the toolkit.
int DeviceCount();
// One line that says why DeviceCount is 0; empty if it is not 0.
std::string DeviceProblem();

struct DeviceProperties {
  std::string name;
  int multiprocessors = 0;
  size_t total_memory = 0;  // bytes
};
const DeviceProperties& Properties(int device);

// Makes the device current for the calling thread: kernels are launched on it. After this call no
// other function here changes the current device of the thread.
void SetDevice(int device);
// Makes the device current until the guard goes out of scope.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  const int before_;
};

// Streams of a device by number. A stream is made when it is first asked for and lives for ever. A
// thread that records a graph (graph.h) gets the recording's streams instead, so ask again each
// time.
enum StreamId { kComputeStream, kCopyStream, kCommunicationStream };
Stream GetStream(int device, int stream_id);
void Synchronize(Stream stream);

// A mark in a stream of one device, which can be set again and again. Used by one thread at a time.
class Event {
 public:
  explicit Event(int device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Marks the work that `stream`, a stream of this device, holds now.
  void Record(Stream stream);
  // True if all marked work is done or nothing was marked. Throws if the work failed.
  bool Done() const;
  void Synchronize() const;  // waits until Done()
  // Makes later work of `waiting`, a stream of any device, start after the marked work.
  void Delay(Stream waiting) const;

 private:
  CUevent_st* event_ = nullptr;
};

// True while a Graph (graph.h) records the stream: work that is put into it is recorded, not done.
bool IsRecorded(Stream stream);
// The time that the device takes for the work that `body` puts into `stream`, a stream of the
// current device. Waits for that work.
double MillisecondsOf(Stream stream, const std::function<void()>& body);

// Memory of a device, from its stream-ordered pool, for work on the compute stream. Null if there
// is not enough.
void* Allocate(size_t nbytes, int device);
// Returns memory to the pool. Work that is launched later on the compute stream may get it again.
void Free(void* data, int device);
struct FreeMemory {
  size_t free = 0, total = 0;  // bytes; memory that the pool holds unused counts as free
  size_t peak = 0;             // the most bytes of the pool that were in use at a time
};
FreeMemory MemoryOf(int device);

// Page-locked host memory. All devices read and write it directly, at the same address.
void* AllocatePinned(size_t nbytes);
void FreePinned(void* data);

// Copies between any two places, in stream order. A source in pageable host memory may be reused
// when the call returns. Pinned host memory, and any destination, may be used when the stream is
// done.
void CopyAsync(void* destination, const void* source, size_t nbytes, Stream stream);
// Copies `rows` rows of `row_bytes` bytes on one device. Strides are in bytes.
void CopyRowsAsync(void* destination, size_t destination_stride, const void* source,
                   size_t source_stride, size_t row_bytes, size_t rows, Stream stream);
void SetBytesAsync(void* destination, int value, size_t nbytes, Stream stream);

// An error that only a kernel can see, such as a label out of range. Lies in pinned memory, one for
// each operator (kernel_reports.h). The first thread that finds an error writes it; the host reads
// and clears it after it has waited for the device.
struct KernelReport {
  enum Kind : int32_t {
    kNone,
    kLabelOutOfRange,
    kDivisionByZero,
    kLabelSum,
    kNegativeLabel,
    kIndexOutOfRange,  // the index `value` at position `row`; there are `classes` rows
    kLengths,          // lengths that are negative or do not add up to `classes`
  };
  int32_t kind;
  int32_t label;
  int64_t row, classes;
  double value;
};
KernelReport* ReportOf(int device);

}  // namespace caffe2::cuda

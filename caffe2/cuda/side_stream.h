// Work that runs beside the compute stream because nothing needs its result soon.
//
// One operator forks the work. Another operator, JoinSideStream, joins it further down the net; it
// identifies the work by the address of the result. Executors join all work that is still open at
// the end of a run or a recording, and when a run fails.
#pragma once

#include <functional>

#include "caffe2/cuda/runtime.h"

namespace caffe2::cuda {

// For GetStream. The compute stream has priority over it.
constexpr int kSideStream = kCommunicationStream + 1;

// Calls body(side), which puts work into `side`, the device's kSideStream. The work starts after
// all work that the compute stream holds now, and runs beside later work of the compute stream
// until it is joined. `result` is an address that the work writes. Until the join nobody may change
// the work's inputs, read or change its outputs, or free memory that it uses. Its temporary memory
// must come from `side` (Scratch). Throws what body throws; the work is joined then. Thread-safe.
void ForkSideWork(int device, const void* result, const std::function<void(Stream side)>& body);

// Makes later work of the compute stream start after the work with this result. Does nothing if
// that work is already joined or does not exist. Does not wait. Thread-safe.
void JoinSideWork(int device, const void* result);
// The same for all open work of the device. On a thread that records a graph: for all work that the
// recording has forked.
void JoinAllSideWork(int device);

// Lives on the thread that records a graph, while it records. Work that is forked then belongs to
// the graph, which must also join it (JoinAllSideWork at its end). The caller joins older work
// before it launches the graph.
class RecordedSideWork {
 public:
  RecordedSideWork();
  ~RecordedSideWork();
  RecordedSideWork(const RecordedSideWork&) = delete;
  RecordedSideWork& operator=(const RecordedSideWork&) = delete;
};

}  // namespace caffe2::cuda

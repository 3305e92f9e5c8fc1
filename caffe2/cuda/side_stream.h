// Work beside the compute stream: what the rest of a computation does not need soon.
//
// It is forked by one operator and joined by another, JoinSideStream, further down the net; the
// address of its result says which is meant. Executors join what is left: where a run or a
// recording ends, or a run fails.
#pragma once

#include <functional>

#include "caffe2/cuda/runtime.h"

namespace caffe2::cuda {

// For GetStream. Where both could go on, what the compute stream holds goes first.
constexpr int kSideStream = kCommunicationStream + 1;

// Calls body(side): what it puts into the stream `side`, kSideStream of the device, comes behind
// all that the compute stream holds now, and beside what this gets until the work is joined. Until
// then nobody may change what it reads, read or change what it writes, or give back memory that it
// uses; memory for it alone comes from `side` (Scratch). `result` lies in what it writes. Throws
// what body throws; the work is joined then. Thread-safe.
void ForkSideWork(int device, const void* result, const std::function<void(Stream side)>& body);

// What the compute stream gets from now on comes behind the work with this result; without effect
// if it is joined already, or there is none. Does not wait. Thread-safe.
void JoinSideWork(int device, const void* result);
// The same of all work on the device; while the thread records a graph, of all that it records.
void JoinAllSideWork(int device);

// While it lives, on the thread that records a graph: work that is forked belongs to the graph,
// which must also join it (JoinAllSideWork, at its end). What is not in the graph is joined before
// the graph is launched.
class RecordedSideWork {
 public:
  RecordedSideWork();
  ~RecordedSideWork();
  RecordedSideWork(const RecordedSideWork&) = delete;
  RecordedSideWork& operator=(const RecordedSideWork&) = delete;
};

}  // namespace caffe2::cuda

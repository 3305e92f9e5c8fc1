// CUDA graphs: work of a device that is recorded once and then launched as a whole.
#pragma once

#include <functional>
#include <memory>

namespace caffe2::cuda {

// Records the work that `body` puts into the device's compute stream, without doing it. The graph
// keeps the pointers and values that body passes, for ever. Memory that body allocates and frees
// belongs to the graph.
//
// Throws what body throws. Throws Error if body does something that cannot be recorded: waits for
// the device, copies from or to the host, or keeps memory that it allocated. None of the work has
// been done when the constructor throws.
//
// While it records, the calling thread must put nothing into other streams. GetStream (runtime.h)
// gives that thread the recording's own streams instead of the device's, except for the copy
// stream. Other threads may use the device and record graphs of their own, but nobody else may use
// the communication stream while collectives are recorded (RecordableCollective).
class Graph {
 public:
  Graph(int device, const std::function<void()>& body);
  // Frees the graph's memory, for work that is launched later on the compute stream.
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Launches the recorded work on the compute stream. Does not wait.
  void Launch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// An operator that exchanges data with other shards and may still be recorded. Work that it starts
// on another stream while a graph is recorded becomes a branch of the graph; an operator that ends
// the work joins the branch again. A graph with such work waits on the device for the other shards,
// and the host watches it. All shards must record the same collectives: no shard may run one by
// itself that another shard has in a graph. The shards agree on this once; a shard that then cannot
// launch its graph throws.
class RecordableCollective {
 public:
  virtual ~RecordableCollective() = default;
  // True if its communicator allows recording.
  virtual bool MayBeRecorded() const = 0;
  virtual bool HasPeers() const = 0;  // other shards, which must record the same
  // All shards call this with the same `recorded`, at the same place between their operations.
  // Otherwise it throws EnforceNotMet, naming the operator, on all shards.
  virtual void AgreeOnRecording(bool recorded) = 0;
  virtual bool LeavesOpen() const = 0;  // starts work that another operator joins
  virtual bool Joins() const = 0;       // joins all open work
  // Called before and after each launch of the graph. AwaitRecorded waits until the graph is done.
  // It throws if another shard is lost or the deadline passes; the graph is then over and cannot be
  // used again.
  virtual void BeginRecorded() = 0;
  virtual void AwaitRecorded() = 0;
};

}  // namespace caffe2::cuda

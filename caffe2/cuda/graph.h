// Work of a device that is recorded once and then done again by one call: a CUDA graph.
#pragma once

#include <functional>
#include <memory>

namespace caffe2::cuda {

// What `body` puts into the device's compute stream, recorded instead of done. Pointers and values
// that it passes are those of the recording, for ever. Throws what body throws, and Error if body
// does what cannot be recorded: waits for the device, copies from or to the host, or keeps memory
// that it allocated meanwhile. Memory that it gives back belongs to the graph. Nothing has been
// done when it throws. The calling thread must put nothing into other streams meanwhile; other
// threads may use the device as they like, and record graphs of their own: GetStream (runtime.h)
// gives the thread that records streams of the recording for those of the device, but for the copy
// stream. Where collectives are recorded (below), nobody else uses the communication stream.
class Graph {
 public:
  Graph(int device, const std::function<void()>& body);
  // Behind all that the compute stream holds.
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Does the recorded work, on the compute stream.
  void Launch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Operators that exchange data with other shards, and may be recorded all the same: what they start
// on another stream while a graph is recorded becomes a branch of it, which an operator that ends
// it joins again. A graph that holds such work waits on the device for the other shards; the host
// watches it. Recording must be uniform over the shards: none may run by itself what another one
// has in a graph. They agree on it once, and a shard that cannot keep to it throws.
class RecordableCollective {
 public:
  virtual ~RecordableCollective() = default;
  // True if its communicator can be used so.
  virtual bool MayBeRecorded() const = 0;
  virtual bool HasPeers() const = 0;  // other shards, which must do the same
  // Throws EnforceNotMet on all shards, naming the operator, unless all of them call it with the
  // same argument, in the same place between their operations.
  virtual void AgreeOnRecording(bool recorded) = 0;
  virtual bool LeavesOpen() const = 0;  // work that another operator joins
  virtual bool Joins() const = 0;       // all that was left open
  // Around each launch of the graph. AwaitRecorded waits until the graph is done, and throws if
  // another shard is lost or the deadline passes; the graph then ends, and is of no use.
  virtual void BeginRecorded() = 0;
  virtual void AwaitRecorded() = 0;
};

}  // namespace caffe2::cuda

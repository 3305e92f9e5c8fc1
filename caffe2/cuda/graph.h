// Work of a device that is recorded once and then done again by one call: a CUDA graph.
#pragma once

#include <functional>
#include <memory>

namespace caffe2::cuda {

// What `body` puts into the device's compute stream, recorded instead of done. Pointers and values
// that it passes are those of the recording, for ever. Throws what body throws, and Error if body
// does what cannot be recorded: waits for the device, copies from or to the host, or keeps memory
// that it allocated meanwhile. Memory that it gives back belongs to the graph. Nothing has been
// done when it throws. The calling thread must put nothing into other streams meanwhile.
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

}  // namespace caffe2::cuda

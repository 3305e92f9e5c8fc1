// Work beside the compute stream: what the rest of a computation does not need soon.
#pragma once

#include <functional>

#include "caffe2/cuda/runtime.h"

namespace caffe2::cuda {

constexpr int kSideStream = kCommunicationStream + 1;  // for GetStream

// A branch of the work of a device, on its stream kSideStream. Used by one thread at a time.
class SideStream {
 public:
  explicit SideStream(int device) : device_(device), forked_(device), joined_(device) {}

  // Calls body(side): what it puts into the stream `side` comes behind all that the compute stream
  // holds now, and beside what body puts into the compute stream. All of both comes before what the
  // compute stream gets afterwards; a graph that records it has two branches. Memory that both use
  // is allocated before, and given back afterwards. Throws what body throws.
  void Run(const std::function<void(Stream side)>& body);

 private:
  const int device_;
  Event forked_, joined_;
};

}  // namespace caffe2::cuda

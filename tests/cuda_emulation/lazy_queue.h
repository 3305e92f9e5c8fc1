// Streams whose work is done when somebody waits for it, and no sooner.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda::emulation {

// One piece of a stream's work.
struct Work {
  std::function<void()> run;
  // Whether it may run now; null: as soon as it is the next one. Called again and again, by whoever
  // waits for the stream; may do work of other streams, a little each time.
  std::function<bool()> ready = nullptr;
};

// What a lazy stream has still to do. Threads take turns to do the work of a device.
class LazyQueue {
 public:
  explicit LazyQueue(std::recursive_mutex* turn) : turn_(turn) {}

  void Put(Work work);
  void PutAll(const std::vector<Work>& work);  // nothing else comes between
  uint64_t End();
  bool IsDone(uint64_t position);
  // Does everything before the position, or waits until others have done it. Throws what the work
  // throws, and Error if called by work of this stream.
  void RunUntil(uint64_t position);
  // Does one piece, if there is one that may run and no other thread has the device's turn.
  void Advance();

 private:
  bool RunOne();  // in turn; false if the next piece may not run yet
  void Pop();

  std::recursive_mutex* const turn_;
  std::mutex mutex_;
  std::deque<Work> work_;
  uint64_t done_ = 0;
  bool busy_ = false;  // with the first of work_; of the device's turn
};

// `ready` as above; on a stream that is lazy, or of a graph that is recorded on one.
void PerformWhen(Stream stream, std::function<bool()> ready);
// The stream goes on by itself: one piece, if it may run now. Nothing where streams are not lazy.
void AdvanceStream(Stream stream);

}  // namespace caffe2::cuda::emulation

// Lazy streams: their work is done only when somebody waits for it.
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
  // True if it may run now. Null: it may run as soon as it is first in the queue. Called again and
  // again by the thread that waits for the stream. May do a little work of other streams each time.
  std::function<bool()> ready = nullptr;
};

// The pending work of a lazy stream. Threads take turns at the work of a device.
class LazyQueue {
 public:
  explicit LazyQueue(std::recursive_mutex* turn) : turn_(turn) {}

  void Put(Work work);
  void PutAll(const std::vector<Work>& work);  // nothing else comes between
  uint64_t End();
  bool IsDone(uint64_t position);
  // Does all work before the position, or waits until other threads have done it. Throws what the
  // work throws, and Error if work of this stream calls it.
  void RunUntil(uint64_t position);
  // Does one piece of work if it may run and no other thread has the device's turn.
  void Advance();

 private:
  bool RunOne();  // needs the turn; false if the next piece may not run yet
  void Pop();

  std::recursive_mutex* const turn_;
  std::mutex mutex_;
  std::deque<Work> work_;
  uint64_t done_ = 0;
  bool busy_ = false;  // the first of work_ is running; guarded by the turn
};

// Puts a piece of work that only waits for `ready`. The stream must be lazy, or of a graph that is
// recorded on a lazy one.
void PerformWhen(Stream stream, std::function<bool()> ready);
// Does one piece of the stream's work if it may run. Does nothing if the stream is not lazy.
void AdvanceStream(Stream stream);

}  // namespace caffe2::cuda::emulation

// Queues of blobs, through which steps of a plan that run at the same time hand records on.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caffe2/core/blob.h"

namespace caffe2 {

// Asked again and again while an operation waits; it may throw to give up.
using WhileWaiting = std::function<void()>;

// A bounded first-in-first-out queue of records of num_blobs() blobs each. Thread-safe.
//
// Contents are moved, not copied: a write leaves in the writer's blobs what a reader left in the
// slot before, so that a queue in use allocates nothing.
class BlobsQueue {
 public:
  // Records that fit (> 0) and blobs in each (> 0).
  BlobsQueue(int64_t capacity, int64_t num_blobs);

  int64_t num_blobs() const { return num_blobs_; }

  // Waits until there is room and takes the contents of the blobs. False, and the blobs untouched,
  // if the queue is or becomes closed. Throws EnforceNotMet for another number of blobs.
  bool Write(const std::vector<Blob*>& blobs, const WhileWaiting& while_waiting = {});
  // Waits for a record and puts it into the blobs. False, and the blobs untouched, if the queue is
  // closed and empty or, with timeout_seconds > 0, if none came in that time.
  bool Read(const std::vector<Blob*>& blobs, double timeout_seconds = 0,
            const WhileWaiting& while_waiting = {});
  // Ends writing and wakes all that wait. What is in the queue can still be read.
  void Close();

 private:
  void SwapWith(int64_t record, const std::vector<Blob*>& blobs);
  void CheckNumBlobs(const std::vector<Blob*>& blobs) const;

  const int64_t num_blobs_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  bool closed_ = false;
  int64_t written_ = 0, read_ = 0;        // records so far
  std::vector<std::vector<Blob>> slots_;  // record r lies in slot r mod capacity
};

// What queues share: waits on `changed` until ready() or the deadline, and meanwhile calls
// `while_waiting` a few times a second. False after the deadline. `lock` is held on return.
bool AwaitChange(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                 double timeout_seconds, const WhileWaiting& while_waiting,
                 const std::function<bool()>& ready);

}  // namespace caffe2

// Queues of blobs, through which concurrent steps of a plan pass records to each other.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caffe2/core/blob.h"

namespace caffe2 {

// Called repeatedly while an operation waits. It may throw to end the wait.
using WhileWaiting = std::function<void()>;

// A bounded first-in-first-out queue of records of num_blobs() blobs each. Thread-safe.
//
// Contents are swapped, not copied: after a write, the writer's blobs hold the old contents of the
// slot. A queue in use therefore does not allocate.
class BlobsQueue {
 public:
  static constexpr const char* kCreator = "CreateBlobsQueue";  // the operator

  // `capacity` is the number of records that fit; both numbers must be positive.
  BlobsQueue(int64_t capacity, int64_t num_blobs);

  int64_t num_blobs() const { return num_blobs_; }

  // Waits until there is room, then takes the contents of the blobs as one record. Returns false,
  // with the blobs unchanged, if the queue is closed or becomes closed. Throws EnforceNotMet unless
  // there are num_blobs() blobs.
  bool Write(const std::vector<Blob*>& blobs, const WhileWaiting& while_waiting = {});
  // Waits for a record and moves it into the blobs. Returns false, with the blobs unchanged, if the
  // queue is closed and empty or, with timeout_seconds > 0, if no record came in that time.
  bool Read(const std::vector<Blob*>& blobs, double timeout_seconds = 0,
            const WhileWaiting& while_waiting = {});
  // Ends writing and wakes all waiting threads. Records in the queue can still be read.
  void Close();

 private:
  void SwapWith(int64_t record, const std::vector<Blob*>& blobs);
  void CheckNumBlobs(const std::vector<Blob*>& blobs) const;

  const int64_t num_blobs_;
  std::mutex mutex_;  // protects all members below
  std::condition_variable changed_;
  bool closed_ = false;
  int64_t written_ = 0, read_ = 0;        // records so far
  std::vector<std::vector<Blob>> slots_;  // record r lies in slot r mod capacity
};

// Waits on `changed` until ready() or the deadline, and calls `while_waiting` a few times a second.
// Returns false after the deadline. `lock` is held on return.
bool AwaitChange(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                 double timeout_seconds, const WhileWaiting& while_waiting,
                 const std::function<bool()>& ready);

}  // namespace caffe2

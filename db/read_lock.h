// The lock of a database that several threads read.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace caffe2::db {

// A mutex whose waiting threads call a function from time to time, because the thread that holds it
// may be waiting for a source to write a record. It replaces std::timed_mutex, which the thread
// sanitizer of GCC 12 does not know.
class ReadLock {
 public:
  // Calls `while_waiting`, unless it is null, every 50 ms while it waits. An exception from it ends
  // the wait without the lock.
  void Lock(const std::function<void()>& while_waiting) {
    constexpr std::chrono::milliseconds kLookUp{50};
    std::unique_lock<std::mutex> lock(mutex_);
    while (!unlocked_.wait_for(lock, kLookUp, [this] { return !locked_; })) {
      if (!while_waiting) continue;
      lock.unlock();
      while_waiting();
      lock.lock();
    }
    locked_ = true;
  }
  // The name that std::unique_lock requires.
  void unlock() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      locked_ = false;
    }
    unlocked_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable unlocked_;
  bool locked_ = false;
};

}  // namespace caffe2::db

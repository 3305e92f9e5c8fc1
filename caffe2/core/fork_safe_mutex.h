// A mutex for what a forked process needs as well.
#pragma once

#include <mutex>

namespace caffe2 {

// A std::mutex that is never locked by another thread when fork() forks the process: it first
// waits until all of them are free, and holds them until the child exists. So the child, which has
// the forking thread alone, finds them free and what they guard whole. (A plain mutex that another
// thread holds at that moment stays locked there for ever.)
//
// A thread that holds one must not lock, make or destroy another one, wait for a thread that may
// fork (in Python: for the GIL), or fork.
class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend class ForkSafeMutexes;

  std::mutex mutex_;
  ForkSafeMutex* next_ = nullptr;   // in the list of all
  ForkSafeMutex** link_ = nullptr;  // what points to this one
};

}  // namespace caffe2

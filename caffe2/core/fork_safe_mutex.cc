#include "caffe2/core/fork_safe_mutex.h"

#include <pthread.h>

namespace caffe2 {

// All of them, in a list that needs no memory of its own. Never destroyed: static objects may hold
// some until the process ends.
class ForkSafeMutexes {
 public:
  static ForkSafeMutexes& Get() {
    static auto* all = new ForkSafeMutexes;
    return *all;
  }

  void Add(ForkSafeMutex* added) {
    const std::lock_guard<std::mutex> lock(mutex_);
    added->next_ = first_;
    added->link_ = &first_;
    if (first_ != nullptr) first_->link_ = &added->next_;
    first_ = added;
  }

  void Remove(ForkSafeMutex* removed) {
    const std::lock_guard<std::mutex> lock(mutex_);
    *removed->link_ = removed->next_;
    if (removed->next_ != nullptr) removed->next_->link_ = removed->link_;
  }

 private:
  ForkSafeMutexes() {
    pthread_atfork([] { Get().LockAll(); }, [] { Get().UnlockAll(); }, [] { Get().UnlockAll(); });
  }

  void LockAll() {
    mutex_.lock();
    for (ForkSafeMutex* each = first_; each != nullptr; each = each->next_) each->lock();
  }
  void UnlockAll() {
    for (ForkSafeMutex* each = first_; each != nullptr; each = each->next_) each->unlock();
    mutex_.unlock();
  }

  std::mutex mutex_;  // guards the list
  ForkSafeMutex* first_ = nullptr;
};

ForkSafeMutex::ForkSafeMutex() { ForkSafeMutexes::Get().Add(this); }
ForkSafeMutex::~ForkSafeMutex() { ForkSafeMutexes::Get().Remove(this); }

}  // namespace caffe2

// Sleeping until another thread has changed something.
#pragma once

#include <atomic>
#include <cstdint>

namespace caffe2 {

// Tells the processor that a thread polls.
inline void PauseProcessor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Lets threads sleep until something changes. The thread that makes the change stores it in an
// atomic, then calls Notify(), which costs a fence and a load while nobody sleeps. Thread-safe.
class EventCount {
 public:
  void Notify() {
    // Without the fences the change, stored before this call, could become visible only after
    // sleepers_ was read, and the thread that waits for it would sleep for ever.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    epoch_.notify_all();
  }

  // Returns once ready() holds: polls for a moment, then sleeps.
  template <typename Ready>
  void Await(const Ready& ready) {
    constexpr int kPolls = 500;  // a few microseconds, less than a sleep and wake-up cost
    for (int i = 0; i < kPolls; ++i) {
      if (ready()) return;
      PauseProcessor();
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    while (true) {
      const uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
      if (ready()) break;
      epoch_.wait(epoch, std::memory_order_seq_cst);
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }

 private:
  std::atomic<uint32_t> epoch_{0};
  std::atomic<int> sleepers_{0};
};

}  // namespace caffe2

// The end of a process that was asked to stop while a read hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace caffe2 {

// A run that is asked to stop (SIGTERM) ends after the iteration under way, which is never if a
// read of its input hangs. From construction to Dismiss(), a thread of this class asks `stop` a few
// times a second for the number of the signal (0: none). Once there is one:
//  - before WatchInput(), it waits for kSetUp, then calls end(reason, signal), which ends the
//    process: a run that is being set up has nothing to lose.
//  - after it, it waits until a wait for input (WaitFor::kInput) has taken kInput, then calls
//    `give_up` once, which must make that wait throw.
// Thread-safe.
class StopWatchdog {
 public:
  static constexpr std::chrono::seconds kSetUp{8}, kInput{3};
  using EndFunction = std::function<void(const std::string& reason, int signal)>;

  StopWatchdog(std::function<int()> stop, EndFunction end);
  ~StopWatchdog() { Dismiss(); }
  StopWatchdog(const StopWatchdog&) = delete;
  StopWatchdog& operator=(const StopWatchdog&) = delete;

  // The set-up is over.
  void WatchInput(std::function<void()> give_up);
  bool gave_up() const { return gave_up_; }
  // Watches no more.
  void Dismiss();

 private:
  void Watch();
  // Looks once; returns false when there is nothing more to do.
  bool Look();

  const std::function<int()> stop_;
  const EndFunction end_;
  std::chrono::steady_clock::time_point asked_at_;  // used only by the thread
  bool asked_ = false;                              // likewise
  std::atomic<bool> gave_up_{false};
  std::mutex mutex_;  // guards the members below but thread_
  std::condition_variable dismissed_changed_;
  bool dismissed_ = false;
  std::function<void()> give_up_;
  std::thread thread_;
};

}  // namespace caffe2

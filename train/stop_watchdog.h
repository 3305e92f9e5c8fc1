// The end of a process that was asked to stop while a read or a write hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace caffe2 {

// A run that is asked to stop (SIGTERM) ends after the current iteration and its last save. If a
// read of its input or a write of the save hangs, it never ends. From construction to Dismiss(), a
// thread of this class asks `stop` a few times a second for the number of the signal (0: none).
// Once there is one:
//  - before WatchRun(), it calls end(reason, signal), which ends the process: a run that is not yet
//    set up has nothing to lose. Until WatchSetUp() it first waits for kJoin, in which a shard
//    gives up joining by itself if its store answers (RunEnd waits 2 s). From then on it waits for
//    kSetUp, because a shard that stops by itself is not taken for a lost one by the others.
//  - after WatchRun(), it looks for two things. When a wait for input (WaitFor::kInput) has taken
//    kInput, it calls `give_up` once, which must make that wait throw. When a wait for a save
//    (WaitFor::kSave) or a log (WaitFor::kLog) has taken kWrite without a write to a file
//    (CountedWrites), it calls end_write(signal, what) once, which must end the process; `what` is
//    "a checkpoint or model" or "a log". A flush that takes longer counts as hung.
// Dismiss() waits for these functions, so they must not call it. Thread-safe.
class StopWatchdog {
 public:
  static constexpr std::chrono::seconds kJoin{3}, kSetUp{8}, kInput{3}, kWrite{15};
  using EndFunction = std::function<void(const std::string& reason, int signal)>;
  using EndWriteFunction = std::function<void(int signal, const std::string& what)>;

  StopWatchdog(std::function<int()> stop, EndFunction end);
  ~StopWatchdog() { Dismiss(); }
  StopWatchdog(const StopWatchdog&) = delete;
  StopWatchdog& operator=(const StopWatchdog&) = delete;

  // Call it when the shard has joined its run.
  void WatchSetUp();
  // Call it when the set-up is over.
  void WatchRun(std::function<void()> give_up, EndWriteFunction end_write);
  bool gave_up() const { return gave_up_; }
  // Stops watching.
  void Dismiss();

 private:
  void Watch();
  // Looks once; returns false when there is nothing more to do.
  bool Look();
  // Names the write that hangs; null if none does.
  const char* HangingWrite();

  const std::function<int()> stop_;
  const EndFunction end_;
  std::chrono::steady_clock::time_point asked_at_;  // used only by the thread
  bool asked_ = false;                              // likewise
  int64_t writes_ = 0;                              // likewise, CountedWrites() at wrote_at_
  std::chrono::steady_clock::time_point wrote_at_;  // likewise
  std::atomic<bool> gave_up_{false};
  std::mutex mutex_;  // guards the members below but thread_
  std::condition_variable dismissed_changed_;
  bool dismissed_ = false;
  bool joined_ = false;
  std::function<void()> give_up_;
  EndWriteFunction end_write_;
  std::thread thread_;
};

}  // namespace caffe2

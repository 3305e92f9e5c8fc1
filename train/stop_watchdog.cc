#include "train/stop_watchdog.h"

#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/utils/waiting_time.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookUp{200};

}  // namespace

StopWatchdog::StopWatchdog(std::function<int()> stop, EndFunction end)
    : stop_(std::move(stop)), end_(std::move(end)), thread_([this] { Watch(); }) {}

void StopWatchdog::WatchInput(std::function<void()> give_up) {
  const std::lock_guard<std::mutex> lock(mutex_);
  give_up_ = std::move(give_up);
}

void StopWatchdog::Dismiss() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    dismissed_ = true;
  }
  dismissed_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StopWatchdog::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!dismissed_changed_.wait_for(lock, kLookUp, [this] { return dismissed_; })) {
    if (!Look()) return;
  }
}

bool StopWatchdog::Look() {
  const int signal = stop_();
  if (signal == 0) return true;
  if (!std::exchange(asked_, true)) asked_at_ = Clock::now();
  const Clock::duration asked_for = Clock::now() - asked_at_;
  if (!give_up_) {
    if (asked_for < kSetUp) return true;
    end_(MakeString("stopped by signal ", signal, " while the run was set up: nothing is lost"),
         signal);
    return false;
  }
  const std::chrono::duration<double> waited(CurrentWaitSeconds(WaitFor::kInput));
  if (asked_for < kInput || waited < kInput) return true;
  gave_up_ = true;
  give_up_();
  return false;
}

}  // namespace caffe2

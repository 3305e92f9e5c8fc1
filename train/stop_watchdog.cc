#include "train/stop_watchdog.h"

#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/utils/waiting_time.h"
#include "caffe2/utils/write_count.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookUp{200};

}  // namespace

StopWatchdog::StopWatchdog(std::function<int()> stop, EndFunction end)
    : stop_(std::move(stop)), end_(std::move(end)), thread_([this] { Watch(); }) {}

void StopWatchdog::WatchSetUp() {
  const std::lock_guard<std::mutex> lock(mutex_);
  joined_ = true;
}

void StopWatchdog::WatchRun(std::function<void()> give_up, EndWriteFunction end_write) {
  const std::lock_guard<std::mutex> lock(mutex_);
  give_up_ = std::move(give_up);
  end_write_ = std::move(end_write);
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

const char* StopWatchdog::HangingWrite() {
  const int64_t writes = CountedWrites();
  if (std::exchange(writes_, writes) != writes) wrote_at_ = Clock::now();
  if (Clock::now() - wrote_at_ < kWrite) return nullptr;
  const auto hangs = [](WaitFor what) {
    return std::chrono::duration<double>(CurrentWaitSeconds(what)) >= kWrite;
  };
  if (hangs(WaitFor::kSave)) return "a checkpoint or model";
  return hangs(WaitFor::kLog) ? "a log" : nullptr;
}

bool StopWatchdog::Look() {
  const char* hanging = HangingWrite();  // also notes the writes before the signal
  const int signal = stop_();
  if (signal == 0) return true;
  if (!std::exchange(asked_, true)) asked_at_ = Clock::now();
  const Clock::duration asked_for = Clock::now() - asked_at_;
  if (!give_up_) {
    if (asked_for < (joined_ ? kSetUp : kJoin)) return true;
    end_(MakeString("stopped by signal ", signal, " while ",
                    joined_ ? "the run was set up" : "it joined the run", ": nothing is lost"),
         signal);
    return false;
  }
  if (hanging != nullptr) {
    end_write_(signal, hanging);
    return false;
  }
  const std::chrono::duration<double> waited(CurrentWaitSeconds(WaitFor::kInput));
  if (asked_for >= kInput && waited >= kInput && !gave_up_.exchange(true)) give_up_();
  return true;  // the save that follows may hang too
}

}  // namespace caffe2

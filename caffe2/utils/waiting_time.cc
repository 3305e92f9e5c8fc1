#include "caffe2/utils/waiting_time.h"

#include <chrono>
#include <mutex>

#include "caffe2/core/fork_safe_mutex.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

struct Counter {
  ForkSafeMutex mutex;
  int waiting = 0;  // threads
  Clock::time_point since;
  Clock::duration total{0};  // without the wait under way
};

Counter& CounterOf(WaitFor what) {
  static auto* counters = new Counter[static_cast<int>(WaitFor::kCount)];
  return counters[static_cast<int>(what)];
}

}  // namespace

TimedWait::TimedWait(WaitFor what) : what_(what) {
  Counter& counter = CounterOf(what_);
  const std::lock_guard<ForkSafeMutex> lock(counter.mutex);
  if (counter.waiting++ == 0) counter.since = Clock::now();
}

TimedWait::~TimedWait() {
  Counter& counter = CounterOf(what_);
  const std::lock_guard<ForkSafeMutex> lock(counter.mutex);
  if (--counter.waiting == 0) counter.total += Clock::now() - counter.since;
}

double WaitedSeconds(WaitFor what) {
  Counter& counter = CounterOf(what);
  const std::lock_guard<ForkSafeMutex> lock(counter.mutex);
  Clock::duration total = counter.total;
  if (counter.waiting > 0) total += Clock::now() - counter.since;
  return std::chrono::duration<double>(total).count();
}

double CurrentWaitSeconds(WaitFor what) {
  Counter& counter = CounterOf(what);
  const std::lock_guard<ForkSafeMutex> lock(counter.mutex);
  if (counter.waiting == 0) return 0;
  return std::chrono::duration<double>(Clock::now() - counter.since).count();
}

}  // namespace caffe2

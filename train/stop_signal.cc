#include "train/stop_signal.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <iterator>

#include "caffe2/utils/signal_stack.h"

namespace caffe2 {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> received{0};
std::atomic<int64_t> first_ms[std::size(kSignals)];  // when each signal first came; 0: not yet
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "used in a signal handler");

int64_t MonotonicMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000 + 1;
}

// The handler. It calls only functions that are safe in one.
void Note(int signal) {
  size_t i = 0;
  while (i + 1 < std::size(kSignals) && kSignals[i] != signal) ++i;
  const int64_t now = MonotonicMs();
  int64_t first = 0;
  if (first_ms[i].compare_exchange_strong(first, now)) {
    received.store(signal, std::memory_order_relaxed);
  } else if (static_cast<double>(now - first) >= StopSignal::kRepeatSeconds * 1e3) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    raise(signal);  // takes effect when the handler returns
  }
}

void Install(int signal) {
  struct sigaction action = {};
  // A signal that is ignored stays so: SIGHUP under nohup.
  if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = Note;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_ONSTACK);  // SA_ONSTACK: see UseSignalStack
  sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  received.store(0);
  for (auto& time : first_ms) time.store(0);
  UseSignalStack();
  for (const int signal : kSignals) Install(signal);
}

StopSignal::~StopSignal() {
  for (const int signal : kSignals) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == Note) {
      std::signal(signal, SIG_DFL);
    }
  }
}

int StopSignal::Received() { return received.load(std::memory_order_relaxed); }

}  // namespace caffe2

#include "train/stop_signal.h"

#include <atomic>
#include <csignal>

#include "caffe2/utils/signal_stack.h"

namespace caffe2 {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void Note(int signal) { received.store(signal, std::memory_order_relaxed); }

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

void Install(int signal) {
  struct sigaction action = {};
  // A signal that is ignored stays so: SIGHUP under nohup.
  if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = Note;
  // SA_RESETHAND: the same signal again has its default action. SA_ONSTACK: see UseSignalStack.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART | SA_ONSTACK);
  sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  received.store(0);
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

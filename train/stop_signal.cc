#include "train/stop_signal.h"

#include <atomic>
#include <csignal>

namespace caffe2 {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void Note(int signal) { received.store(signal, std::memory_order_relaxed); }

void Install(int signal) {
  struct sigaction action = {};
  action.sa_handler = Note;
  // SA_RESETHAND: the same signal again has its default action.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  received.store(0);
  Install(SIGINT);
  Install(SIGTERM);
}

StopSignal::~StopSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int StopSignal::Received() { return received.load(std::memory_order_relaxed); }

}  // namespace caffe2

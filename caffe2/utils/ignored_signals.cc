#include "caffe2/utils/ignored_signals.h"

#include <array>
#include <csignal>

namespace caffe2 {
namespace {

constexpr std::array kSignals = {SIGHUP, SIGINT, SIGTERM};

// Zeros when the process starts: no constructor may run after NoteIgnoredSignals.
std::array<bool, kSignals.size()> ignored;

}  // namespace

void NoteIgnoredSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action;
    ignored[i] = sigaction(kSignals[i], nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  }
}

void RestoreIgnoredSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (ignored[i]) std::signal(kSignals[i], SIG_IGN);
  }
}

}  // namespace caffe2

#include "caffe2/utils/signal_stack.h"

#include <csignal>

namespace caffe2 {

namespace {

// Holds the frame of a signal, 11 KiB with AMX, and the handlers.
constexpr size_t kBytes = 64 << 10;

}  // namespace

void UseSignalStack() {
  stack_t current = {};
  const bool known = sigaltstack(nullptr, &current) == 0;
  if (known && !(current.ss_flags & SS_DISABLE) && current.ss_size >= kBytes) return;
  static char memory[kBytes];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, nullptr);
}

}  // namespace caffe2

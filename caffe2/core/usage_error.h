// The error for programs that are called with bad flags or a bad environment.
#pragma once

#include "caffe2/core/logging.h"

namespace caffe2 {

// A flag or an environment variable is missing, wrong or contradicts another. The text names it
// with its value and says what to do, without a source location.
class UsageError : public EnforceNotMet {
 public:
  using EnforceNotMet::EnforceNotMet;
};

template <typename... Args>
[[noreturn]] void ThrowUsage(const Args&... args) {
  throw UsageError(MakeString(args...));
}

template <typename... Args>
void CheckUsage(bool condition, const Args&... args) {
  if (!condition) ThrowUsage(args...);
}

}  // namespace caffe2

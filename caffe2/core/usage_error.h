// The error of a program that was called in a way that cannot work.
#pragma once

#include "caffe2/core/logging.h"

namespace caffe2 {

// A flag or an environment variable is missing, wrong or contradicts another one. The text names it
// with its value and says what to do; there is nothing in it about places in the source.
class UsageError : public EnforceNotMet {
 public:
  using EnforceNotMet::EnforceNotMet;
};

template <typename... Args>
[[noreturn]] void ThrowUsage(const Args&... args) {
  throw UsageError(MakeString(args...));
}

}  // namespace caffe2

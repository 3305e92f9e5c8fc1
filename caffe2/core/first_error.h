// Runs several steps, each of them even if an earlier one fails.
#pragma once

#include <exception>

#include "caffe2/core/logging.h"

namespace caffe2 {

// Keeps the first error; logs later ones. Used by one thread.
class FirstError {
 public:
  template <typename F>
  void Try(const F& f) {
    try {
      f();
    } catch (const std::exception& error) {
      if (first_ != nullptr) LOG(ERROR) << "after another error: " << error.what();
      if (first_ == nullptr) first_ = std::current_exception();
    }
  }
  // Throws the first error, if there was one.
  void Rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

}  // namespace caffe2

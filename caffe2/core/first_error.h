// Runs all of several steps, even if some of them fail.
#pragma once

#include <exception>

#include "caffe2/core/logging.h"

namespace caffe2 {

// Keeps the first std::exception of the steps and logs later ones. One thread uses it.
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

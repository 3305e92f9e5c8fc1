// The object of CreateCounter.
#pragma once

#include <atomic>
#include <memory>

#include "caffe2/core/type_meta.h"

namespace caffe2 {

// A number that threads count up and down. Thread-safe.
class Counter {
 public:
  explicit Counter(int64_t count) : count_(count) {}
  int64_t value() const { return count_.load(); }
  // Adds `step` and returns the old value.
  int64_t Add(int64_t step) { return count_.fetch_add(step); }
  int64_t Reset(int64_t count) { return count_.exchange(count); }

 private:
  std::atomic<int64_t> count_;
};
CAFFE2_TYPE_NAME(std::unique_ptr<Counter>, "std::unique_ptr<Counter<int64_t>>");

}  // namespace caffe2

// Sums by name, for the whole process or for a part of it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>

namespace caffe2 {

// a + b, or the nearest int64 if the sum overflows.
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

// Sums by name, which begin at 0. Thread-safe. A sum that does not fit into int64 stays at the
// nearest int64.
class StatRegistry {
 public:
  void Add(const std::string& key, int64_t value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    int64_t& sum = sums_[key];
    sum = SaturatingAdd(sum, value);
  }
  // Keeps the value of the first call for a key; returns the value that is kept.
  int64_t First(const std::string& key, int64_t value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return first_.emplace(key, value).first->second;
  }
  // Returns the sums by name. With `reset`, sets them to 0 afterwards.
  std::map<std::string, int64_t> Export(bool reset) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::map<std::string, int64_t> sums = sums_;
    if (reset) {
      for (auto& [key, sum] : sums_) sum = 0;
    }
    return sums;
  }

  // The registry of the process.
  static StatRegistry* Global();

 private:
  std::mutex mutex_;
  std::map<std::string, int64_t> sums_, first_;
};

}  // namespace caffe2

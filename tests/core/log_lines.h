// What is logged, for tests of it.
#pragma once

#include <glog/logging.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

namespace caffe2::testing {

// The lines that are logged while it lives, by any thread.
class LogLines final : public google::LogSink {
 public:
  LogLines() { google::AddLogSink(this); }
  ~LogLines() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity, const char*, const char*, int, const struct ::tm*,
            const char* message, size_t length) override {
    std::lock_guard<std::mutex> lock(mutex_);
    lines_.emplace_back(message, length);
  }
  bool Contain(const std::string& text) const { return Count(text) > 0; }
  // Lines with the text.
  int Count(const std::string& text) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int>(std::count_if(
        lines_.begin(), lines_.end(),
        [&text](const std::string& line) { return line.find(text) != std::string::npos; }));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace caffe2::testing

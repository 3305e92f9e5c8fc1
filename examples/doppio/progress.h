// The progress of a long command, on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace caffe2 {

// "writing: 12,000 of 60,000 records (20 %), 3,400/s, 14 s left": on a terminal one line that
// changes, elsewhere a line every ten seconds.
class ProgressLine {
 public:
  // `before` of the `total` records were done earlier, and do not count toward the speed.
  ProgressLine(std::string what, int64_t total, int64_t before = 0);
  ~ProgressLine();  // clears the line of a terminal
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Show(int64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  const std::string what_;
  const int64_t total_, before_;
  const bool terminal_;
  const Clock::time_point begin_;
  Clock::time_point last_;
  bool shown_ = false;
};

}  // namespace caffe2

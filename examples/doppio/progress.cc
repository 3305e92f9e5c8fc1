#include "examples/doppio/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "examples/doppio/text.h"

namespace caffe2 {

ProgressLine::ProgressLine(std::string what, int64_t total, int64_t before)
    : what_(std::move(what)),
      total_(std::max<int64_t>(total, 1)),
      before_(before),
      terminal_(isatty(STDERR_FILENO) != 0),
      begin_(Clock::now()),
      last_(begin_) {}

ProgressLine::~ProgressLine() {
  if (shown_ && terminal_) std::fprintf(stderr, "\r\x1b[K");
}

void ProgressLine::Show(int64_t done) {
  const auto now = Clock::now();
  const std::chrono::milliseconds pause(terminal_ ? 200 : 10000);
  if (now - last_ < pause) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double speed = static_cast<double>(done - before_) / seconds;
  const double left = speed > 0 ? static_cast<double>(total_ - done) / speed : 0;
  std::fprintf(stderr, "%s%s: %s of %s records (%lld %%), %s/s, %.0f s left%s",
               terminal_ ? "\r\x1b[K" : "", what_.c_str(), Grouped(done).c_str(),
               Grouped(total_).c_str(), static_cast<long long>(100 * done / total_),
               Grouped(static_cast<int64_t>(speed)).c_str(), left, terminal_ ? "" : "\n");
  shown_ = true;
}

}  // namespace caffe2

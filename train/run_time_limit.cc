#include "train/run_time_limit.h"

#include <chrono>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

class ScopedDeadline {
 public:
  ScopedDeadline(Workspace* ws, Clock::time_point deadline) : ws_(ws) {
    ws_->SetDeadline(deadline);
  }
  ~ScopedDeadline() { ws_->SetDeadline(std::nullopt); }
  ScopedDeadline(const ScopedDeadline&) = delete;
  ScopedDeadline& operator=(const ScopedDeadline&) = delete;

 private:
  Workspace* ws_;
};

}  // namespace

bool RunWithin(double seconds, const std::string& name, Workspace* ws,
               const std::function<bool()>& body) {
  if (seconds <= 0) return body();
  const Clock::time_point deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                        std::chrono::duration<double>(seconds));
  const ScopedDeadline scope(ws, deadline);
  try {
    return body();
  } catch (const Error& error) {
    if (Clock::now() < deadline) throw;
    CAFFE_THROW(name, " has not ended within ", seconds, " s (max_run_seconds): ", error.what());
  }
}

}  // namespace caffe2

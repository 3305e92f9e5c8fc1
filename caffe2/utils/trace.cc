#include "caffe2/utils/trace.h"

#include <mutex>

#include "caffe2/core/fork_safe_mutex.h"
#include "caffe2/core/logging.h"

namespace caffe2 {
namespace internal {
std::atomic<bool> trace_is_on{false};
}

namespace {

struct Recording {
  ForkSafeMutex mutex;
  Trace trace;
  size_t max_spans = 0;
};

Recording& TheRecording() {
  static auto* recording = new Recording;  // threads may outlive static objects
  return *recording;
}

int ThreadNumber() {
  static std::atomic<int> threads{0};
  thread_local const int number = threads++;
  return number;
}

int64_t Nanoseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

void StartTrace(size_t max_spans) {
  Recording& recording = TheRecording();
  const std::lock_guard<ForkSafeMutex> lock(recording.mutex);
  CAFFE_ENFORCE(!TraceIsOn(), "this process already records a timeline");
  recording.trace = {};
  recording.max_spans = max_spans;
  internal::trace_is_on = true;
}

Trace StopTrace() {
  Recording& recording = TheRecording();
  const std::lock_guard<ForkSafeMutex> lock(recording.mutex);
  CAFFE_ENFORCE(TraceIsOn(), "this process records no timeline");
  internal::trace_is_on = false;
  return std::exchange(recording.trace, {});
}

void AddToTrace(const char* category, std::string name,
                std::chrono::steady_clock::time_point start) {
  const auto end = std::chrono::steady_clock::now();
  Recording& recording = TheRecording();
  const std::lock_guard<ForkSafeMutex> lock(recording.mutex);
  if (!TraceIsOn()) return;
  if (recording.trace.spans.size() >= recording.max_spans) {
    ++recording.trace.dropped;
    return;
  }
  recording.trace.spans.push_back(
      {category, std::move(name), ThreadNumber(), Nanoseconds(start), Nanoseconds(end)});
}

}  // namespace caffe2

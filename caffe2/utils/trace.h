// Records what the threads of this process do and when, for a timeline.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caffe2 {

// What one thread did for a while.
struct TraceSpan {
  const char* category;  // a word: iteration, operator, exchange, input, save, test
  std::string name;
  int thread;          // numbers threads in the order of their first spans, from 0
  int64_t start, end;  // nanoseconds of std::chrono::steady_clock
};

struct Trace {
  std::vector<TraceSpan> spans;  // in the order of their ends
  int64_t dropped = 0;           // spans beyond the limit
};

// Begins a recording of at most `max_spans` spans. Throws EnforceNotMet if one is under way.
void StartTrace(size_t max_spans);
// Ends the recording. Spans that have not yet ended are left out. Throws EnforceNotMet if none is
// under way.
Trace StopTrace();

namespace internal {
extern std::atomic<bool> trace_is_on;
}
// Thread-safe, and cheap enough to ask before each operator.
inline bool TraceIsOn() { return internal::trace_is_on.load(std::memory_order_relaxed); }

// Adds a span of the calling thread that ends now. Does nothing without a recording. Thread-safe.
void AddToTrace(const char* category, std::string name,
                std::chrono::steady_clock::time_point start);

// Adds a span from its construction to its destruction, if a recording is under way at both times.
class TracedSpan {
 public:
  // The name is "<what> <name>", or `what` alone.
  TracedSpan(const char* category, const char* what, const std::string& name = "") {
    if (!TraceIsOn()) return;
    category_ = category;
    name_ = name.empty() ? what : std::string(what) + " " + name;
    start_ = std::chrono::steady_clock::now();
  }
  ~TracedSpan() {
    if (category_ != nullptr) AddToTrace(category_, std::move(name_), start_);
  }
  TracedSpan(const TracedSpan&) = delete;
  TracedSpan& operator=(const TracedSpan&) = delete;

 private:
  const char* category_ = nullptr;  // null: not recorded
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace caffe2

// How long this process has waited, and for what.
#pragma once

namespace caffe2 {

enum class WaitFor {
  kInput,   // a net waits for its next batch
  kShards,  // a collective operation is under way, and nothing else on its device
  kSave,    // training waits until a file is written in the background
  kLog,     // training waits until the log and the records of the run are written
  kCount,   // the number of values above
};

// Counts the time from its construction to its destruction as waiting. Thread-safe: time in which
// several threads wait for the same thing counts once.
class TimedWait {
 public:
  explicit TimedWait(WaitFor what);
  ~TimedWait();
  TimedWait(const TimedWait&) = delete;
  TimedWait& operator=(const TimedWait&) = delete;

 private:
  const WaitFor what_;
};

// Seconds of waiting since the process began, including a wait that is under way. Thread-safe.
double WaitedSeconds(WaitFor what);
// Seconds since the wait under way began; 0 if there is none. Thread-safe.
double CurrentWaitSeconds(WaitFor what);

}  // namespace caffe2

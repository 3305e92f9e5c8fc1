// A timeline of some iterations of a run, with all shards in one file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/options.h"
#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

class NetObserver;

// The times when a shard entered and left an exchange between all shards, in nanoseconds of its own
// clock.
struct ExchangeTimes {
  int64_t entered = 0, left = 0;
};

// The clock of a shard is ahead of shard 0's by `ahead` +/- `error` nanoseconds.
struct ClockOffset {
  int64_t ahead = 0, error = 0;
};

// Estimates the offset from the times of the same exchanges on shard 0 and another shard. No shard
// leaves an exchange before all have entered it, so each exchange bounds the offset from both
// sides. If both shards read the same clock (`same_clock`) and 0 is within the bounds, the offset
// is 0. Throws EnforceNotMet if the vectors are empty or differ in length.
ClockOffset AlignClock(const std::vector<ExchangeTimes>& first,
                       const std::vector<ExchangeTimes>& other, bool same_clock);

// Records what the shards do in iterations trace_first to trace_last of the run (OutputOptions):
// operators of the training net, exchanges between shards, reading and decoding of input, tests and
// saves. Then shard 0 writes all shards' spans to trace_path, in the format of Chrome's tracing and
// Perfetto, with all clocks aligned to its own. Each shard records at most kMaxSpans.
//
// All shards must call the methods together, on the training thread.
class RunTrace {
 public:
  static constexpr size_t kMaxSpans = 100'000;

  // The arguments must outlive it; the nets are made later.
  RunTrace(const TrainOptions& options, const TrainNets& nets, Workspace* ws, ShardRun* run);
  ~RunTrace();
  RunTrace(const RunTrace&) = delete;
  RunTrace& operator=(const RunTrace&) = delete;

  // Call it before iteration `number` of the run, counted from 1.
  void BeforeIteration(int64_t number);
  // Call it after that iteration. Throws like the exchanges of ShardRun do. If the file cannot be
  // written, logs a warning.
  void AfterIteration(int64_t number);
  // Call it at the end of the run, which may come before trace_last.
  void Finish();

 private:
  enum class State { kBefore, kRecording, kDone };
  void Start();
  void Write();

  const TrainOptions& options_;
  const TrainNets& nets_;
  Workspace* const ws_;
  ShardRun* const run_;
  State state_ = State::kBefore;
  const NetObserver* observer_ = nullptr;  // the net owns it
};

}  // namespace caffe2

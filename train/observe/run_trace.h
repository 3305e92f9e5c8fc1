// A timeline of some iterations of a run, of all shards in one file.
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

// When a shard entered and left an exchange in which all shards take part, in nanoseconds of its
// clock.
struct ExchangeTimes {
  int64_t entered = 0, left = 0;
};

// How far the clock of a shard is ahead of shard 0's, in nanoseconds: `ahead`, at most `error` too
// much or too little.
struct ClockOffset {
  int64_t ahead = 0, error = 0;
};

// From the times of the same exchanges on both shards. No shard leaves an exchange before all have
// entered it, so each bounds the offset from both sides. `first` and `other` are as long, and not
// empty. If both shards read the same clock (`same_clock`) and 0 is within the bounds, it is 0.
ClockOffset AlignClock(const std::vector<ExchangeTimes>& first,
                       const std::vector<ExchangeTimes>& other, bool same_clock);

// Records what the shards do in iterations trace_first to trace_last of the run (OutputOptions):
// operators of the training net, exchanges between shards, reading and decoding of input, tests and
// saves. Then shard 0 writes all shards' spans to trace_path, in the format of Chrome's tracing and
// Perfetto, with all clocks aligned to its own. At most kMaxSpans of each shard.
//
// All methods are called on the training thread, on all shards alike.
class RunTrace {
 public:
  static constexpr size_t kMaxSpans = 100'000;

  // The arguments must outlive it; the nets are made later.
  RunTrace(const TrainOptions& options, const TrainNets& nets, Workspace* ws, ShardRun* run);
  ~RunTrace();
  RunTrace(const RunTrace&) = delete;
  RunTrace& operator=(const RunTrace&) = delete;

  // Before iteration `number` of the run, counted from 1.
  void BeforeIteration(int64_t number);
  // After it. Throws as the exchanges of ShardRun do; a file that cannot be written is a warning.
  void AfterIteration(int64_t number);
  // At the end of the run, which may end before trace_last.
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

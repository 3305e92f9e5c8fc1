// Finds the shard that holds the others back although all of them work.
//
// Every shard publishes in its heartbeat how it has spent its time. The slowest shard waits least
// for the others; what they wait more than it does is the time that they lose. The cause is the
// activity on which the slowest shard spends more time than the others.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "distributed/run_record.h"

namespace caffe2 {

// Seconds since the shard's heartbeat began, or a difference of two such readings.
struct ShardTimes {
  double clock = 0;
  double waiting = 0;  // for the other shards in collective operations
  double input = 0;    // for the next batch
  double saving = 0;   // in the state "saving"

  // The words of a heartbeat.
  void AddTo(RunRecord* heartbeat) const;
  // nullopt if the text, which may be anything, has no times.
  static std::optional<ShardTimes> Parse(const std::string& heartbeat);
};

struct Straggler {
  int shard = -1;         // -1: nobody
  std::string cause;      // "input", "saving" or "computing"
  double held_back = 0;   // the others' waiting time (median) minus its own, as a part of the time
  double own_part = 0;    // the part of the shard's time that the cause takes, 0 to 1
  double other_part = 0;  // the same for the others (median)

  // "shard 1 (host a, pid 17) holds the others back: they wait for it 40 % of the time; cause:
  // input, 45 % of its time (others 3 %)". `shard_text` describes the shard.
  std::string Describe(const std::string& shard_text) const;
};

// Names the slowest shard if held_back is at least a fifth. `times` are the times of at least two
// shards over the same interval.
Straggler FindStraggler(const std::vector<ShardTimes>& times);

// Compares the last ten seconds of all shards. Not thread-safe.
class StragglerWatch {
 public:
  // `heartbeats` are the current values of the heartbeat keys, by shard. Names nobody while a
  // heartbeat is missing, or before the calls cover ten seconds.
  Straggler Note(const std::vector<std::string>& heartbeats);

 private:
  std::deque<std::vector<ShardTimes>> readings_;
};

}  // namespace caffe2

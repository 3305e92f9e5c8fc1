// Decides whether a shard that was asked to stop should go on waiting for the other shards.
#pragma once

#include <string>
#include <vector>

#include "distributed/collective.h"
#include "distributed/run_record.h"

namespace caffe2 {

// A shard that is asked to stop (SIGTERM) ends after the current iteration, together with the
// others. If another shard keeps it waiting in a collective operation, the iteration may never end.
// This class watches the others from its construction on. Not thread-safe.
class StopPatience {
 public:
  // A shard is given up if its heartbeat has not changed for this long and in three looks at the
  // heartbeats.
  static constexpr milliseconds kSilence{1500};
  // A shard is also given up if this one waits for it this long in one operation: it may hang, or
  // only be slow.
  static constexpr milliseconds kOneOperation{10000};

  // `members` has one record for each shard, `self` is this one.
  StopPatience(std::vector<MemberRecord> members, int self);

  // Returns why this shard should stop waiting; "" if it should go on. Needs no store: finds
  // processes of this host that are stopped (SIGSTOP).
  std::string LookAtProcesses() const;
  // Returns the same, from the heartbeats of all shards and the progress of this one. Call it once
  // per heartbeat. `heartbeats` are the values of the heartbeat keys, by shard, and may hold
  // anything.
  std::string LookAtHeartbeats(const std::vector<std::string>& heartbeats,
                               const CollectiveProgress& own);

 private:
  std::string Describe(int shard) const;

  const std::vector<MemberRecord> members_;
  const int self_;
  std::vector<ChangeWatch> heartbeats_;
  std::vector<int> silent_looks_;
  ChangeWatch operation_;  // the number of the last one
};

}  // namespace caffe2

// Which shard is at fault when a collective operation fails.
#pragma once

#include <string>
#include <vector>

#include "distributed/collective.h"

namespace caffe2 {

// What this process does now, as words after "it": "waits for its input, for 6 s", "saves, for 2
// s", "takes part in a collective operation, for 1 s", or "computes". For heartbeats. Thread-safe.
std::string CurrentActivity();

// The shard at fault (-1: unknown), and why if that is known.
struct Culprit {
  int shard = -1;
  std::string cause = {};
};

// Finds the shard that has begun the fewest collective operations (the first, if there are
// several): it reads, computes or hangs while the others wait for it. Unknown if no shard has begun
// fewer than this one. The cause says what that shard did at its last heartbeat. `heartbeats` are
// the values of the heartbeat keys, by shard, and may hold anything; `own` is the progress of this
// process, shard `self`, which is never named.
Culprit FindLaggingShard(int self, const CollectiveProgress& own,
                         const std::vector<std::string>& heartbeats);

}  // namespace caffe2

// Which shard is at fault when a collective operation fails.
#pragma once

#include <string>
#include <vector>

#include "distributed/collective.h"

namespace caffe2 {

// The shard at fault (-1: unknown), and why if that is known.
struct Culprit {
  int shard = -1;
  std::string cause = {};
};

// The shard that has begun fewer collective operations than all others, although its heartbeat goes
// on: it reads, computes or hangs while they wait for it. `heartbeats` are the values of the
// heartbeat keys, by shard, and may hold anything; `own` is the progress of this process, shard
// `self`, which is never named. The first of several such shards. Unknown if nobody is behind this
// shard.
Culprit FindShardBehind(int self, const CollectiveProgress& own,
                        const std::vector<std::string>& heartbeats);

}  // namespace caffe2

// From what a launcher or the flags say about a process to its part in a run.
#pragma once

#include "distributed/launch_environment.h"
#include "train/options.h"

namespace caffe2 {

// Puts the launch into the options: the place, the run_id, and the store if the launch has one. A
// shard without a number waits for the store and asks it for one; then throws as FindPrivateStore
// and ClaimShardId do.
void ApplyLaunch(const Launch& launch, ShardOptions* shards);

// The first of `per_shard` GPUs of this shard, where the flags name none: shards of one host take
// the next ones each. A launcher may show each shard its own GPUs only: then 0. `visible` is the
// number of GPUs that this process sees. Throws UsageError if they do not suffice.
int FirstGpu(const ShardOptions& shards, int per_shard, int visible);

// The work of a process of the launch that does not train: keeps the store until the run has ended
// (throws as PrivateStore::WaitForRun), or nothing. Returns the exit status of the program.
int ServeRun(const Launch& launch, const ShardOptions& shards);

}  // namespace caffe2

// Turns a launch (the launcher's variables and the flags) into the options of a shard.
#pragma once

#include "distributed/launch_environment.h"
#include "train/options.h"

namespace caffe2 {

// Sets the ids and numbers of shards and servers, the run_id and, if the launch names one, the
// store. With Launch::kRankByArrival it waits for the store and claims a shard id there, and throws
// like FindPrivateStore and ClaimNumber.
void ApplyLaunch(const Launch& launch, ShardOptions* shards);

// For flags that name no GPUs: the id of the first of this shard's `per_shard` GPUs. `visible` is
// the number of GPUs that this process sees. Shard n of a host takes the GPUs from n * per_shard
// on. But a process that sees exactly `per_shard` GPUs takes all of them: its launcher shows each
// shard only its own. Throws UsageError if there are too few.
int FirstGpu(const ShardOptions& shards, int per_shard, int visible);

// The main function of a process that does not train. If the launch makes it the store keeper of
// several processes, it keeps the store until the run has ended (throws like
// PrivateStore::WaitForRun); otherwise it does nothing. Returns the exit status, 0.
int ServeRun(const Launch& launch, const ShardOptions& shards);

}  // namespace caffe2

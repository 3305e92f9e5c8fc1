// Turns a launch (the launcher's variables and the flags) into the options of a shard.
#pragma once

#include "distributed/launch_environment.h"
#include "train/options.h"

namespace caffe2 {

// Sets the place, the run_id and, if the launch has one, the store. For Launch::kRankByArrival it
// waits for the store and claims a shard id there; it then throws as FindPrivateStore and
// ClaimNumber do.
void ApplyLaunch(const Launch& launch, ShardOptions* shards);

// The id of the first of this shard's `per_shard` GPUs if the flags name none. Shard n of a host
// takes GPUs n * per_shard and up; if this process sees exactly `per_shard` GPUs, because the
// launcher shows each shard only its own, it takes these. `visible` is the number of GPUs that this
// process sees. Throws UsageError if there are too few.
int FirstGpu(const ShardOptions& shards, int per_shard, int visible);

// The main function of a process that does not train: keeps the store until the run has ended (and
// throws as PrivateStore::WaitForRun), or does nothing. Returns the exit status of the program.
int ServeRun(const Launch& launch, const ShardOptions& shards);

}  // namespace caffe2

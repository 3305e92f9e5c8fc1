// The runs that operators of this process have joined, and how they end. Trainers that keep their
// own RunMembership (train/shard_run.h) are not among them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/collective.h"
#include "distributed/run_membership.h"

namespace caffe2 {

// The place of shard options.shard_id in a run: joined by the first call (RunMembership::Join, with
// its errors), given to later ones. `store` tells stores apart. If a peer is lost all communicators
// of the process are aborted; what its nets do shows in the status (run_progress.h).
//
// With its last holder the run ends: cleanly (RunMembership::Leave), unless an exception is under
// way. If the process exits before, its exit status tells: 0 is a clean end, another one a failure
// of this shard. A forked child takes no part. Throws EnforceNotMet if this process holds the place
// with another number of shards. Thread-safe.
std::shared_ptr<RunMembership> JoinRun(const std::string& store, const StoreFactory& stores,
                                       const RunOptions& options);

// Those that have not ended with their last holder.
std::vector<std::shared_ptr<RunMembership>> JoinedRuns();

// Ends all of them: cleanly, or as a failure of this shard for the reason `cause`.
void LeaveRuns();
void FailRuns(const std::string& cause);

// For hosts whose memory is torn down before the exit status is known, as an interpreter's: keeps
// all runs and these common worlds of theirs until the process exits.
void KeepRunsUntilExit(std::vector<std::shared_ptr<Communicator>> worlds);

}  // namespace caffe2

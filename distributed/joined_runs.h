// The runs that operators of this process have joined, and how they end. Trainers with their own
// RunMembership (train/shard_run.h) do not use it. All functions are thread-safe, except
// KeepRunsUntilExit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/collective.h"
#include "distributed/run_membership.h"

namespace caffe2 {

// Returns the membership of shard options.shard_id in a run. The first call joins the run
// (RunMembership::Join, with its exceptions); later calls return the same membership. Throws
// EnforceNotMet if this process has joined with another number of shards. `store` names the store:
// equal run ids in different stores are different runs. If a peer is lost, all communicators of the
// process are aborted. The status of the run shows the progress of the process's nets
// (run_progress.h).
//
// When the last shared_ptr is released, the run ends in that thread: cleanly (RunMembership::Leave,
// which waits for the other shards), or as a failure if an exception is unwinding the stack. If the
// process exits before that, an exit status of 0 is a clean end and any other is a failure of this
// shard. A forked child takes no part in the run.
std::shared_ptr<RunMembership> JoinRun(const std::string& store, const StoreFactory& stores,
                                       const RunOptions& options);

// The joined runs that somebody still holds.
std::vector<std::shared_ptr<RunMembership>> JoinedRuns();

// End all joined runs: cleanly, or as a failure of this shard with the reason `cause`.
void LeaveRuns();
void FailRuns(const std::string& cause);

// Sets a function that returns true once this process was asked to stop. From then on, if a joined
// run waits for a shard in vain (RunMembership::OnStopWhileBlocked), all communicators of the
// process are aborted. Other threads call the function a few times a second until the process ends.
void SetStopRequest(bool (*asked)());
bool StopIsRequested();

// Keeps all joined runs and the given common worlds until the process exits. For interpreters,
// which free their memory before the exit status is known.
void KeepRunsUntilExit(std::vector<std::shared_ptr<Communicator>> worlds);

}  // namespace caffe2

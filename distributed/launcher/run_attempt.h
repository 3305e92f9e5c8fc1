// Starts all shards of a launch once and follows them to their end.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "distributed/launcher/launch_plan.h"
#include "distributed/launcher/shard_output.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// How a shard ended.
struct ShardEnd {
  int shard = 0;
  std::string host;
  int status = 0;         // as in a shell: 128 + n for signal n
  double seconds = 0;     // after the start
  bool was_told = false;  // the launcher had sent it a signal
  std::vector<std::string> last_lines;
  bool was_expendable = false;  // it failed, and the run went on (AttemptOptions::goes_on_without)
};

struct AttemptResult {
  std::vector<ShardEnd> ends;  // in the order of the ends; shards whose end is unknown are missing
  int signal = 0;              // the first that the user sent; 0: none
  double seconds = 0;
  int launcher_status = 0;        // of mpirun or srun
  bool was_told_to_grow = false;  // see AttemptOptions::can_grow

  // The shard to blame: the first that failed for a reason of its own, not because of another shard
  // (kPeerLost) or a signal of the launcher. If there is none, the first that failed; null if none
  // failed but expendable ones.
  const ShardEnd* FirstFailure() const;
  // The shard whose host may be at fault: FirstFailure(), unless that shard only lost another one
  // (kPeerLost). Then it is the first shard that a signal of the launcher ended, if there is one:
  // it hung, or its host could not be reached any more.
  const ShardEnd* Suspect() const;
  // True if the shards ended because the launcher wants to start more of them: by its signal, or
  // because they lost a shard that it ended. False if all ended with 0, or one for another reason.
  bool StoppedToGrow() const;
  bool ok() const { return signal == 0 && launcher_status == 0 && FirstFailure() == nullptr; }
};

struct AttemptOptions {
  std::string password;  // of the store; empty: none
  std::string log_dir;   // one file for each shard; empty: none
  // Where the shards' standard output and error are shown. If the plan shows a progress bar,
  // `error` is a terminal; then `output` must be the same writer, or no terminal.
  OutputWriter* output = nullptr;
  OutputWriter* error = nullptr;

  // If set, RunAttempt calls it about once a second until a shard ends. Once it returns true, all
  // shards get SIGTERM and `stop_grace`, so that the caller can start more of them.
  std::function<bool()> can_grow;
  // If set, RunAttempt calls it when a shard has failed. If it returns true, that ends no other
  // shard. Must not throw.
  std::function<bool(int shard)> goes_on_without;

  milliseconds failure_grace{5000};  // for the other shards to end themselves after one failed
  milliseconds stop_grace{30000};    // for shards to end after a signal; longer if they save
};

// "DIRECTORY/shard-2.log".
std::string LogPath(const std::string& log_dir, int shard);

// Returns once every process is gone. Forwards SIGINT, SIGTERM and SIGHUP, which the caller has
// blocked, to the shards; a second one ends them at once. After a shard has failed without which
// the run does not go on, the others get `failure_grace`, then SIGTERM, and SIGKILL after
// `stop_grace`. While a shard writes files, SIGKILL is held back until none has written for 15 s,
// at most ten times `stop_grace`. Throws UsageError or IoError if a process cannot be started or a
// log cannot be written; then nothing is left running. The process must have called AdoptOrphans.
AttemptResult RunAttempt(const LaunchPlan& plan, const AttemptOptions& options);

}  // namespace caffe2

// `doppio run`: starts the shards of a run, follows them, and starts them again after a failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distributed/launcher/launch_plan.h"

namespace caffe2 {

struct LauncherOptions {
  std::vector<std::string> command;
  int num_shards = 0;                  // 0: one for each slot of the hosts
  std::vector<HostSlots> hosts;        // empty: this host, or what `mpirun` or `srun` choose
  std::optional<LaunchEngine> engine;  // nullopt: kLocal if all hosts are this one, else kSsh
  int max_restarts = 0;
  int min_shards = 0;     // 0: num_shards
  int max_shards = 0;     // 0: num_shards, and a change of the host file stops no run
  int stop_seconds = 30;  // for shards to end after a signal or failure; longer if they save
  std::string hostfile;   // the file that listed `hosts`; read again before each restart; or empty
  std::string store;      // a StoreUrl, or "none"; empty: a Redis server for this run alone
  std::string run_id;     // empty: a random one
  std::string log_dir;
  std::vector<std::string> exported;  // "NAME" or "NAME=VALUE"
  std::string ssh = "ssh";            // with options, separated by blanks
  bool bind_cores = false;
  std::string doppio;  // the path of this program
};

// Runs the launch to its end. Returns the exit status for main (launch_report.h). The shards'
// output goes to the standard output and error. Throws UsageError, which names the option and the
// fix, before anything is started, and IoError if a store, log or process cannot be started. Call
// it once, in the first thread of a process without other threads.
int RunLauncher(const LauncherOptions& options);

}  // namespace caffe2

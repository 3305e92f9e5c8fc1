// How launchers tell a process its place among the shards of a run.
//
// torchrun, srun, mpirun and others start one process for each shard and describe the launch in
// environment variables; each has variables of its own, its dialect. Here all of them become one
// Launch. All functions are pure: the environment is an argument.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "distributed/store_url.h"

namespace caffe2 {

using Environment = std::map<std::string, std::string>;
// The variables of this process.
Environment ProcessEnvironment();

// The ports of a store that a launcher names no exact port for: the store is on the first free one
// of so many, and the shards know it by the run_id that it holds.
inline constexpr int kStorePorts = 16;

struct Launch {
  enum class Role {
    kWorker,       // trains
    kStoreKeeper,  // keeps the store of the run while the workers train (MXNet's scheduler)
    kIdle,         // has no part in synchronous training (MXNet's servers)
  };
  // The rank is given by the store, in order of arrival (MXNet's workers started through ssh).
  static constexpr int kRankByArrival = -1;

  std::string dialect;  // "torchrun", "Slurm", ...; empty: flags alone, or a single process
  Role role = Role::kWorker;
  int rank = 0;  // shard_id; kRankByArrival
  int size = 1;  // num_shards
  // Among the processes on this host. local_size 0: the launcher does not tell.
  int local_rank = 0;
  int local_size = 0;
  std::string run_id;                  // empty: the launcher has no name for the run
  int restart_count = 0;               // how often the launcher has started the run again
  StoreUrl store;                      // where the shards meet; empty: the launcher does not tell
  std::string store_hint;              // then: which variables would tell, for messages
  bool scheduler_keeps_store = false;  // of tcp://; else shard 0 does

  // "torchrun: shard 1 of 4, local 1 of 2, store tcp://10.0.0.5:29500, run_id job7".
  std::string Describe() const;
};

// What the environment says; empty without any variable of a launcher. Where launchers are nested
// (torchrun in a step of Slurm) the inner one counts: the first complete set of, in this order,
// torchrun, Horovod, TF_CONFIG, MXNet, Open MPI, PMI, Slurm and Kubernetes. `num_shards`, if not 0,
// is the size where a launcher tells only the rank.
//
// Throws UsageError, which names the variables and says what to do, if
//  - a value is no number, out of range, or contradicts another one;
//  - there is no complete set, but a part of one: such a process must not train alone;
//  - the launcher gives this process a role that does not exist here.
std::optional<Launch> ReadLaunchEnvironment(const Environment& environment, int num_shards = 0);

// What the flags of a program say about its place; empty where they say nothing.
struct LaunchFlags {
  std::optional<int> num_shards, shard_id;
  std::string run_id;
  std::string init_method;   // a StoreUrl or "env://"
  bool names_store = false;  // other flags tell where the shards meet
};

// The place of this process: flags count more than the environment.
//  - With both num_shards and shard_id the environment is not looked at, unless init_method is
//    env://. One of them alone must agree with the launcher.
//  - The store is that of init_method; empty if `names_store`; else the launcher's.
//  - Without a run_id, a store of tcp:// or file:// gives the run a name of its own.
// Throws UsageError: see ReadLaunchEnvironment; or if several shards have no place to meet.
Launch ResolveLaunch(const LaunchFlags& flags, const Environment& environment);

}  // namespace caffe2

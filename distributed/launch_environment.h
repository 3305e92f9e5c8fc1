// Reads the rank of a process among the shards of a run, as launchers tell it.
//
// torchrun, srun, mpirun and others start one process for each shard and describe the launch in
// environment variables. Each launcher has its own variables, its dialect; this code turns all of
// them into one Launch. All functions but ProcessEnvironment are pure: the environment is an
// argument.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "distributed/store_url.h"

namespace caffe2 {

using Environment = std::map<std::string, std::string>;
// The variables of this process.
Environment ProcessEnvironment();

// If a launcher does not name the exact port of the store, the store uses the first free one of
// this many ports. The shards recognise it by its run_id.
inline constexpr int kStorePorts = 16;

struct Launch {
  enum class Role {
    kWorker,       // trains
    kServer,       // keeps parameters (docs/design/async.md)
    kStoreKeeper,  // keeps the store of the run while the workers train (MXNet's scheduler)
    kIdle,         // has no part in training (MXNet's servers without --param_servers)
  };
  // The store gives the ranks, in order of arrival (for MXNet's workers started through ssh).
  static constexpr int kRankByArrival = -1;

  std::string dialect;  // "torchrun", "Slurm", ...; empty: only flags, or a single process
  Role role = Role::kWorker;
  // shard_id, or kRankByArrival. Parameter servers come after the workers.
  int rank = 0;
  int size = 1;         // workers and parameter servers
  int num_servers = 0;  // parameter servers
  // The rank among the processes on this host. local_size is 0 if the launcher does not give it.
  int local_rank = 0;
  int local_size = 0;
  std::string run_id;                  // empty: the launcher has no name for the run
  int restart_count = 0;               // how often the launcher has restarted the run
  StoreUrl store;                      // where the shards meet; empty: the launcher gives none
  std::string store_hint;              // without a store: the variables to set, for messages
  bool scheduler_keeps_store = false;  // with tcp://, the scheduler keeps it instead of shard 0

  // True if the process is a worker or a parameter server.
  bool Trains() const { return role == Role::kWorker || role == Role::kServer; }
  // "torchrun: shard 1 of 4, local 1 of 2, store tcp://10.0.0.5:29500, run_id job7".
  std::string Describe() const;
};

// Reads the launch from the environment; nullopt if no variable of a launcher is set. If launchers
// are nested (torchrun in a step of Slurm), the inner one counts: the first complete set in the
// order torchrun, Horovod, TF_CONFIG, MXNet, Open MPI, PMI, Slurm, Kubernetes. If the launcher
// gives only the rank, the size is `num_shards` (0: not given).
//
// `param_servers` is the flag of a program that can be a parameter server: 0 if it is not given;
// nullopt for a program that cannot.
//
// Throws UsageError, which names the variables and says what to do, if
//  - a value is not a number, is out of range, or contradicts another value;
//  - only some variables of a set are there: such a process must not train alone;
//  - the launcher gives this process a role that Doppio does not have.
std::optional<Launch> ReadLaunchEnvironment(const Environment& environment, int num_shards = 0,
                                            std::optional<int> param_servers = std::nullopt);

// The flags of a program that give its place; empty if they are not given.
struct LaunchFlags {
  std::optional<int> num_shards = {}, shard_id = {};
  std::string run_id = {};
  std::string init_method = {};           // a StoreUrl or "env://"
  bool names_store = false;               // other flags (--redis_host, ...) give the store
  std::optional<int> param_servers = {};  // as for ReadLaunchEnvironment
};

// Finds the place of this process. Flags override the environment.
//  - With both num_shards and shard_id it ignores the environment, unless init_method is env://. If
//    only one of them is given, it must agree with the launcher.
//  - The store comes from init_method; it is empty if `names_store`; otherwise the launcher gives
//    it.
//  - With param_servers, the last processes are the servers, unless the launcher gives the roles
//    (TF_CONFIG, MXNet).
//  - Without a run_id, the name of the run comes from the store if that is tcp:// or file://.
// Throws UsageError like ReadLaunchEnvironment, and if several shards have no store to meet at.
Launch ResolveLaunch(const LaunchFlags& flags, const Environment& environment);

}  // namespace caffe2

// The command lines that start the shards of a launch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "distributed/launch_environment.h"
#include "distributed/launcher/host_slots.h"

namespace caffe2 {

// The program that starts the processes: this one (itself or through ssh), mpirun or srun.
enum class LaunchEngine { kLocal, kSsh, kMpi, kSlurm };
// "local", "ssh", "mpi", "slurm".
const std::map<std::string, LaunchEngine>& LaunchEngines();

struct LaunchPlan {
  LaunchEngine engine = LaunchEngine::kLocal;
  std::vector<std::string> command;  // of a shard
  std::vector<HostSlots> hosts;      // empty for kMpi and kSlurm: the engine's own choice
  int num_shards = 1;
  std::string run_id;
  int restart_count = 0, max_restarts = 0;
  std::string master_addr;    // MASTER_ADDR of the shards; empty: the engine gives it
  int master_port = 0;        // a free port of the first host, for programs that need one
  std::string store_url;      // without a password; empty: no store
  bool has_password = false;  // REDISCLI_AUTH of the launcher has the store's password
  Environment exported;       // variables that the user wants on all hosts
  bool bind_cores = false;
  bool shows_bar = false;  // the launcher shows the progress of shard 0 on its terminal

  std::string doppio;                      // the path of this program, the same on all hosts
  std::string directory;                   // where the shards run
  std::vector<std::string> ssh = {"ssh"};  // the program and options of the user's choice
  std::string mpirun = "mpirun";           // of Open MPI
};

// A process that the launcher starts itself.
struct LaunchProcess {
  static constexpr int kAllShards = -1;

  std::vector<std::string> words;
  int shard = kAllShards;  // kAllShards: mpirun or srun; the shards' output lines have prefixes
  std::string host;        // "" for kAllShards
};

// One process for each shard (kLocal, kSsh), or one for all. Each is a supervisor that is
// controlled through its standard input. No password is in the words. Throws like PlaceShards does.
std::vector<LaunchProcess> ProcessesOf(const LaunchPlan& plan);

// How often the launcher sends a sign of life. A supervisor on another host that gets none for
// kLeaseSeconds considers the launcher lost.
inline constexpr int kAliveSeconds = 5, kLeaseSeconds = 30;
// A host to which ssh cannot connect within this time has failed.
inline constexpr int kConnectSeconds = 20;

// Quotes a word for a shell.
std::string ShellQuote(const std::string& word);

}  // namespace caffe2

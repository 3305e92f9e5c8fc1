// The process between a launcher and a shard: `doppio shard`, one for each shard on the shard's
// host.
//
// It sets the shard's environment, starts the program, forwards signals, and ends with the
// program's exit status once every process of the program's tree is gone. If the launcher dies,
// even by SIGKILL, or the connection to it is lost, it ends the tree.
#pragma once

#include <string>
#include <vector>

#include "distributed/launch_environment.h"
#include "distributed/store_handler.h"

namespace caffe2 {

struct SuperviseOptions {
  std::vector<std::string> command;
  Environment environment;  // variables to set, besides the environment of this process

  // True: standard input carries LaunchControl lines, and its end means that the launcher has died.
  // False: the launcher is the parent process.
  bool controlled = false;
  // The launcher is lost if no line has come for this long; 0: never. For connections that may
  // break without an end of the input.
  milliseconds lease{0};
  // mpirun or srun gives this shard's place: translate it into torchrun's variables, put the
  // shard's number before each line of output, and report the end as a line (shard_output.h).
  bool placed_by_environment = false;
  // Give the shard cores of its own: an equal part of the cores of the host. Has no effect if there
  // are fewer cores than shards.
  bool bind_cores = false;
  // The launcher shows the progress of shard 0 on its terminal (caffe2/utils/status_bar.h).
  bool shows_bar = false;
};

// The lines that a launcher writes to the standard input of a supervisor.
struct LaunchControl {
  enum class Kind { kPassword, kStart, kSignal, kAlive };
  Kind kind = Kind::kAlive;
  std::string password;  // for kPassword: the store's
  int signal = 0;        // for kSignal

  std::string Format() const;  // with the end of the line
  // Throws IoError for any other text.
  static LaunchControl Parse(const std::string& line);
};

// Runs a shard to its end, and returns the exit status for main. Throws like StartProcess does.
// Blocks signals in this process and takes over its children, so call it only once in a process.
int Supervise(const SuperviseOptions& options);

// The threads for one of `local_size` shards that share this process's cores, as variables that the
// environment does not set yet: OMP_NUM_THREADS and, if there are more shards than cores,
// OMP_WAIT_POLICY. Empty for one shard.
Environment ThreadVariables(const Environment& environment, int local_size);

}  // namespace caffe2

// doppio run: starts the shards of a run.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "distributed/launch_environment.h"
#include "distributed/launcher/launcher.h"
#include "distributed/launcher/process_tree.h"
#include "examples/doppio/commands.h"
#include "examples/doppio/help_format.h"

namespace caffe2 {

namespace {

struct RunFlags {
  LauncherOptions launch;
  std::optional<std::string> hosts;
  std::string via;
};

// Refuses an empty name among the hosts: it is a slip, such as an unset variable of a shell.
void CheckHostNames(const std::string& hosts) {
  std::string list = "," + hosts + ",";
  std::erase_if(list, [](char c) { return c == ' ' || c == '\t'; });
  CheckUsage(list.find(",,") == std::string::npos && list.find(",:") == std::string::npos,
             "-H is \"", hosts, "\": the name of a host is empty; write -H HOST:SLOTS,HOST:SLOTS");
}

// The status with which the trainer that is to be started refuses its flags; 0 if it does not, and
// for other programs. Says that no shard was started.
int Refusal(std::vector<std::string> command) {
  if (command.empty()) return 0;
  const std::string name = command[0];
  try {
    command[0] = FindProgram(name, ProcessEnvironment());
  } catch (const UsageError&) {
    return 0;  // other hosts may have it
  }
  const int status = CheckTrainerFlags(command);
  if (status == 0) return 0;
  std::fprintf(stderr, "doppio: run: started no shard: %s ended with exit status %d (%s)\n",
               name.c_str(), status, DescribeExitStatus(status).c_str());
  return status;
}

int Run(const RunFlags& flags, const std::vector<std::string>& command) {
  LauncherOptions launch = flags.launch;
  launch.command = command;
  CheckUsage(!flags.hosts || launch.hostfile.empty(), "-H and --hostfile cannot be used together");
  if (flags.hosts) {
    CheckHostNames(*flags.hosts);
    launch.hosts = ParseHosts("-H", *flags.hosts);
  }
  if (!launch.hostfile.empty()) launch.hosts = ReadHostFile(launch.hostfile);
  if (!flags.via.empty()) launch.engine = LaunchEngines().at(flags.via);
  launch.doppio = std::filesystem::read_symlink("/proc/self/exe");
  if (const int status = Refusal(command)) return status;
  return RunLauncher(launch);
}

}  // namespace

void AddRunCommand(const std::vector<std::string>& command, CLI::App* program, Action* action) {
  const auto flags = std::make_shared<RunFlags>();
  LauncherOptions& launch = flags->launch;
  CLI::App* run = program->add_subcommand(
      "run", "start the shards of a run: doppio run -n SHARDS -- COMMAND...");
  run->footer(
      Examples(
          {"doppio run -n 2 -- mnist_trainer --recipe mnist_lenet --train_data mnist --use_cpu",
           "doppio run -H node1:4,node2:4 --max_restarts 3 -- resnet50_trainer --train_data "
           "photos --num_gpus 1",
           "doppio run -n 2 --log_dir logs -- python3 train.py"}) +
      "\n\ndocs/launchers.md says what the shards are told, and how a run ends.");
  std::vector<std::string> engines;
  for (const auto& [name, engine] : LaunchEngines()) engines.push_back(name);

  const CLI::Range shards(1, 65536), restarts(0, 1000000);
  run->add_option("-n,--num_shards", launch.num_shards,
                  "number of shards; without it, one for each slot of the hosts")
      ->check(shards);
  run->add_option("-H,--hosts", flags->hosts, "HOST:SLOTS,... to start shards on");
  run->add_option("--hostfile", launch.hostfile,
                  "a file with lines HOST slots=N; read again before each restart");
  run->add_option(
         "--via", flags->via,
         "what starts the shards: local, ssh, mpi (mpirun) or slurm (srun); default: local, "
         "or ssh if other hosts are given")
      ->check(CLI::IsMember(engines));
  run->add_option("--max_restarts", launch.max_restarts,
                  "start all shards again after a failure, at most this many times; default: 0")
      ->check(restarts);
  run->add_option(
         "--min_shards", launch.min_shards,
         "fewest shards to go on with when hosts are left out after two failures; default: -n")
      ->check(shards);
  run->add_option("--max_shards", launch.max_shards,
                  "once --hostfile has slots for more shards than run, stop them (SIGTERM) and go "
                  "on with at most this many; default: never")
      ->check(shards);
  run->add_option(
      "--store", launch.store,
      "where the shards meet: redis://HOST, file:///DIRECTORY, tcp://HOST:PORT or none; "
      "default: a Redis server for this run alone");
  run->add_option("--stop_timeout", launch.stop_seconds,
                  "seconds that shards have to save and end after a signal, or after another shard "
                  "failed; then SIGKILL, but not while they write files, and at the latest after "
                  "ten times as long; default: 30")
      ->check(CLI::Range(1, 86400));
  run->add_option("--run_id", launch.run_id, "name of the run; default: a random one");
  run->add_option("--log_dir", launch.log_dir, "write the output of each shard to a file there");
  run->add_option("-x,--export", launch.exported,
                  "NAME or NAME=VALUE: an environment variable for all shards; may be repeated")
      ->allow_extra_args(false);
  run->add_option("--ssh", launch.ssh, "the ssh program and its options, for --via ssh");
  run->add_flag("--bind_cores", launch.bind_cores,
                "give each shard cores of its own; not for hosts that run other work");
  run->callback(
      [flags, &command, action] { *action = [flags, &command] { return Run(*flags, command); }; });
}

}  // namespace caffe2

// doppio shard: the supervisor of one shard, which `doppio run` starts.
#include <memory>

#include "caffe2/core/usage_error.h"
#include "distributed/launcher/supervisor.h"
#include "examples/doppio/commands.h"

namespace caffe2 {

void AddShardCommand(const std::vector<std::string>& command, CLI::App* program, Action* action) {
  struct ShardFlags {
    SuperviseOptions options;
    std::vector<std::string> variables;
    int lease_seconds = 0;
  };
  const auto flags = std::make_shared<ShardFlags>();
  CLI::App* shard = program->add_subcommand("shard", "supervise one shard; doppio run starts it");
  shard->group("");  // not in the help
  shard->add_option("--env", flags->variables, "NAME=VALUE for the shard; may be repeated")
      ->allow_extra_args(false);
  shard->add_flag("--controlled", flags->options.controlled, "read lines of control from stdin");
  shard->add_option("--lease", flags->lease_seconds,
                    "end if no line of control comes for so many seconds");
  shard->add_flag("--placed_by_environment", flags->options.placed_by_environment,
                  "mpirun or srun tells the place of the shard");
  shard->add_flag("--bind_cores", flags->options.bind_cores, "give the shard cores of its own");
  shard->add_flag("--shows_bar", flags->options.shows_bar,
                  "the launcher shows the progress of shard 0");
  shard->callback([flags, &command, action] {
    *action = [flags, &command] {
      SuperviseOptions options = flags->options;
      CheckUsage(!command.empty(), "COMMAND is missing after --");
      options.command = command;
      options.lease = std::chrono::seconds(flags->lease_seconds);
      for (const std::string& each : flags->variables) {
        const size_t equals = each.find('=');
        CheckUsage(equals != std::string::npos, "--env ", each, ": = is missing");
        options.environment[each.substr(0, equals)] = each.substr(equals + 1);
      }
      return Supervise(options);
    };
  });
}

}  // namespace caffe2

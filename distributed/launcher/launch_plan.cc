#include "distributed/launcher/launch_plan.h"

#include "caffe2/core/logging.h"

namespace caffe2 {

namespace {

using Words = std::vector<std::string>;

void Append(const Words& more, Words* words) {
  words->insert(words->end(), more.begin(), more.end());
}

void AddVariables(const Environment& variables, Words* words) {
  for (const auto& [name, value] : variables) Append({"--env", name + "=" + value}, words);
}

// The variables that are the same for all shards.
Environment RunVariables(const LaunchPlan& plan) {
  Environment variables = plan.exported;
  variables["TORCHELASTIC_RUN_ID"] = plan.run_id;
  variables["TORCHELASTIC_RESTART_COUNT"] = std::to_string(plan.restart_count);
  variables["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(plan.max_restarts);
  if (!plan.master_addr.empty()) variables["MASTER_ADDR"] = plan.master_addr;
  variables["MASTER_PORT"] = std::to_string(plan.master_port);
  if (!plan.store_url.empty()) variables["DOPPIO_STORE"] = plan.store_url;
  return variables;
}

Environment PlaceVariables(const ShardPlace& place, size_t shard, size_t num_shards) {
  return {{"RANK", std::to_string(shard)},
          {"WORLD_SIZE", std::to_string(num_shards)},
          {"LOCAL_RANK", std::to_string(place.local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(place.local_size)}};
}

Words SupervisorCommand(const LaunchPlan& plan, const Words& options, const Environment& variables,
                        const Words& command) {
  Words words = {plan.doppio, "shard"};
  Append(options, &words);
  AddVariables(variables, &words);
  words.push_back("--");
  Append(command, &words);
  return words;
}

Words ShardOptions(const LaunchPlan& plan, const Words& options) {
  Words all = options;
  if (plan.bind_cores) all.push_back("--bind_cores");
  if (plan.shows_bar) all.push_back("--shows_bar");
  return all;
}

// The command that ssh gives to the shell of the other host.
std::string RemoteCommand(const LaunchPlan& plan, const Words& supervisor) {
  std::string text = "cd " + ShellQuote(plan.directory) + " && exec";
  for (const std::string& word : supervisor) text += " " + ShellQuote(word);
  return text;
}

Words SshWords(const LaunchPlan& plan, const std::string& host, const Words& supervisor) {
  Words words = plan.ssh;
  Append({"-T", "-o", "BatchMode=yes", "-o", MakeString("ServerAliveInterval=", kAliveSeconds),
          "-o", "ServerAliveCountMax=3", "-o", MakeString("ConnectTimeout=", kConnectSeconds), host,
          RemoteCommand(plan, supervisor)},
         &words);
  return words;
}

std::vector<LaunchProcess> ShardProcesses(const LaunchPlan& plan) {
  const std::vector<ShardPlace> places = PlaceShards(plan.hosts, plan.num_shards);
  std::vector<LaunchProcess> processes;
  for (size_t shard = 0; shard < places.size(); ++shard) {
    Environment variables = RunVariables(plan);
    for (const auto& each : PlaceVariables(places[shard], shard, places.size())) {
      variables.insert(each);
    }
    const bool remote = plan.engine == LaunchEngine::kSsh;
    Words options = {"--controlled"};
    if (remote) Append({"--lease", std::to_string(kLeaseSeconds)}, &options);
    const Words words =
        SupervisorCommand(plan, ShardOptions(plan, options), variables, plan.command);
    const std::string& host = places[shard].host;
    processes.push_back(
        {remote ? SshWords(plan, host, words) : words, static_cast<int>(shard), host});
  }
  return processes;
}

// "a:2,b:1", as mpirun reads it.
std::string HostList(const LaunchPlan& plan, bool with_slots) {
  std::string list;
  for (const HostSlots& each : plan.hosts) {
    list += (list.empty() ? "" : ",") + each.host;
    if (with_slots) list += ":" + std::to_string(each.slots);
  }
  return list;
}

Words MpirunWords(const LaunchPlan& plan) {
  Words words = {plan.mpirun, "-n", std::to_string(plan.num_shards)};
  if (!plan.hosts.empty()) Append({"--host", HostList(plan, true)}, &words);
  Append({"--oversubscribe", "--bind-to", "none"}, &words);
  // By its name alone; the supervisors get the other variables as arguments.
  if (plan.has_password) Append({"-x", "REDISCLI_AUTH"}, &words);
  return words;
}

Words SrunWords(const LaunchPlan& plan) {
  Words words = {
      "srun",         "--ntasks",    std::to_string(plan.num_shards), "--kill-on-bad-exit=1",
      "--export=ALL", "--unbuffered"};
  if (!plan.hosts.empty()) Append({"--nodelist", HostList(plan, false)}, &words);
  return words;
}

LaunchProcess ProcessOfAll(const LaunchPlan& plan) {
  Words words = plan.engine == LaunchEngine::kMpi ? MpirunWords(plan) : SrunWords(plan);
  Append(SupervisorCommand(plan, ShardOptions(plan, {"--placed_by_environment"}),
                           RunVariables(plan), plan.command),
         &words);
  return {SupervisorCommand(plan, {"--controlled"}, {}, words), LaunchProcess::kAllShards, ""};
}

}  // namespace

const std::map<std::string, LaunchEngine>& LaunchEngines() {
  static const std::map<std::string, LaunchEngine> engines = {{"local", LaunchEngine::kLocal},
                                                              {"ssh", LaunchEngine::kSsh},
                                                              {"mpi", LaunchEngine::kMpi},
                                                              {"slurm", LaunchEngine::kSlurm}};
  return engines;
}

std::vector<LaunchProcess> ProcessesOf(const LaunchPlan& plan) {
  const bool by_shard = plan.engine == LaunchEngine::kLocal || plan.engine == LaunchEngine::kSsh;
  if (by_shard) return ShardProcesses(plan);
  return {ProcessOfAll(plan)};
}

std::string ShellQuote(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-+=./:,@%") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace caffe2

#include "distributed/launch_environment.h"

#include <unistd.h>

#include "caffe2/core/usage_error.h"
#include "distributed/launch_dialects.h"
#include "distributed/run_record.h"

namespace caffe2 {

namespace {

constexpr char kAlone[] = "to train alone give --num_shards 1 --shard_id 0";
constexpr char kEnvironment[] = "env://";

// Inner launchers first: torchrun and mpirun often run inside Slurm jobs and Kubernetes pods.
constexpr DialectReading (*kDialects[])(const LaunchVariables&) = {
    ReadTorchrun, ReadHorovod, ReadTfConfig, ReadMxnet,
    ReadOpenMpi,  ReadPmi,     ReadSlurm,    ReadKubernetes};

// RANK and WORLD_SIZE must not contradict the launch, even if only one of them is set.
void CheckAgainstTorchrun(const LaunchVariables& variables, const Launch& launch) {
  for (const auto& [name, number] :
       {std::pair{"RANK", launch.rank}, std::pair{"WORLD_SIZE", launch.size}}) {
    const auto stated = variables.Number(name);
    if (!stated || *stated == number || number == Launch::kRankByArrival) continue;
    ThrowUsage(variables.Shown(name), " contradicts ", launch.dialect, ", which says ", number,
               ": unset it");
  }
}

void CheckFlag(const char* flag, const std::optional<int>& value, int stated,
               const std::string& dialect) {
  if (!value || *value == stated) return;
  ThrowUsage("--", flag, " is ", *value, ", but ", dialect, " says ", stated,
             ": leave the flag out, or give both --num_shards and --shard_id");
}

// The environment with RANK and WORLD_SIZE replaced by the flags.
Environment WithFlags(const LaunchFlags& flags, Environment environment) {
  if (flags.num_shards && flags.shard_id) {
    environment["RANK"] = std::to_string(*flags.shard_id);
    environment["WORLD_SIZE"] = std::to_string(*flags.num_shards);
  }
  return environment;
}

void CheckPlaceFlags(const LaunchFlags& flags) {
  const int num_shards = flags.num_shards.value_or(LaunchVariables::kMaxShards);
  if (num_shards < 1) ThrowUsage("--num_shards is ", num_shards, ", must be at least 1");
  const int shard_id = flags.shard_id.value_or(0);
  if (shard_id < 0 || shard_id >= num_shards) {
    ThrowUsage("--shard_id is ", shard_id, ", must be from 0 to ", num_shards - 1);
  }
}

Launch ReadPlace(const LaunchFlags& flags, const Environment& environment) {
  CheckPlaceFlags(flags);
  const bool explicit_place = flags.num_shards && flags.shard_id;
  const bool from_environment = flags.init_method == kEnvironment;
  Launch launch;
  launch.size = flags.num_shards.value_or(1);
  launch.rank = flags.shard_id.value_or(0);
  if (explicit_place && !from_environment) return launch;
  const auto read = ReadLaunchEnvironment(WithFlags(flags, environment),
                                          flags.num_shards.value_or(0), flags.param_servers);
  if (!read && from_environment) {
    ThrowUsage(
        "--init_method is env://, but no launcher has set variables: set RANK, WORLD_SIZE, "
        "MASTER_ADDR and MASTER_PORT, or start the program with a launcher");
  }
  if (!read) return launch;
  CheckFlag("num_shards", flags.num_shards, read->size, read->dialect);
  if (read->role == Launch::Role::kWorker && read->rank != Launch::kRankByArrival) {
    CheckFlag("shard_id", flags.shard_id, read->rank, read->dialect);
  }
  return *read;
}

// The last processes are parameter servers, if the launcher has not given the roles.
void SetServers(int servers, Launch* launch) {
  if (servers < 0) ThrowUsage("--param_servers is ", servers, ", must not be negative");
  if (servers == 0 || launch->num_servers > 0 || launch->role != Launch::Role::kWorker) return;
  if (servers >= launch->size) {
    ThrowUsage("--param_servers is ", servers, ", but there are ", launch->size,
               " processes, servers included: start more (--num_shards counts all of them)");
  }
  launch->num_servers = servers;
  if (launch->rank >= launch->size - servers) launch->role = Launch::Role::kServer;
}

// A name for a run that has a store of its own.
std::string RunIdOfStore(const StoreUrl& store) {
  if (store.kind == StoreUrl::Kind::kFile) return "run";
  if (store.kind != StoreUrl::Kind::kTcp) return "";
  return RunIdOf("tcp_" + store.host + "_" + std::to_string(store.port));
}

void CheckMeetingPoint(const LaunchFlags& flags, const Launch& launch) {
  const bool on_one_host = launch.local_size == launch.size;  // then the shards share a directory
  const bool told = !launch.store.empty() || flags.names_store || launch.dialect.empty();
  if (!told && !on_one_host) {
    ThrowUsage(launch.Describe(), ", but no store to meet at: set ", launch.store_hint,
               ", or give --init_method tcp://HOST:PORT with the host of shard 0, or --redis_host");
  }
  if (launch.rank == Launch::kRankByArrival && !launch.scheduler_keeps_store) {
    ThrowUsage(launch.dialect,
               ": DMLC_WORKER_ID is not set: set it to the number of this worker, or "
               "let the workers meet at the scheduler");
  }
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

std::optional<Launch> ReadLaunchEnvironment(const Environment& environment, int num_shards,
                                            std::optional<int> param_servers) {
  const LaunchVariables variables(environment, num_shards, param_servers);
  std::string missing;
  for (const auto& dialect : kDialects) {
    const DialectReading reading = dialect(variables);
    if (reading.launch) {
      CheckAgainstTorchrun(variables, *reading.launch);
      return reading.launch;
    }
    if (missing.empty()) missing = reading.missing;
  }
  if (missing.empty()) return std::nullopt;
  ThrowUsage(missing, "; ", kAlone);
}

Launch ResolveLaunch(const LaunchFlags& flags, const Environment& environment) {
  if (flags.names_store && !flags.init_method.empty()) {
    ThrowUsage("--init_method is ", WithoutPassword(flags.init_method),
               ", but other flags name another store: leave out --redis_host, or --init_method");
  }
  StoreUrl store;
  if (!flags.init_method.empty() && flags.init_method != kEnvironment) {
    store = ParseStoreUrl(flags.init_method);
  }
  Launch launch = ReadPlace(flags, environment);
  SetServers(flags.param_servers.value_or(0), &launch);
  if (!store.empty() || flags.names_store) {
    launch.store = store;
    launch.scheduler_keeps_store = false;
    if (launch.role == Launch::Role::kStoreKeeper) launch.role = Launch::Role::kIdle;
  }
  if (!flags.run_id.empty()) launch.run_id = flags.run_id;
  if (launch.run_id.empty()) launch.run_id = RunIdOfStore(launch.store);
  if (launch.size > 1 && !launch.run_id.empty()) CheckRunId(launch.run_id);
  if (launch.size > 1 && launch.role != Launch::Role::kIdle) CheckMeetingPoint(flags, launch);
  return launch;
}

std::string Launch::Describe() const {
  std::string text = dialect + ": ";
  if (role == Role::kStoreKeeper) {
    text += MakeString("scheduler of ", size - num_servers, " workers");
    if (num_servers > 0) text += MakeString(" and ", num_servers, " parameter servers");
  } else if (role == Role::kIdle) {
    text += "a process without a part in training";
  } else if (role == Role::kServer) {
    text += rank == kRankByArrival
                ? MakeString("one of ", num_servers, " parameter servers, numbered by the store")
                : MakeString("parameter server ", rank - (size - num_servers), " of ", num_servers);
  } else if (rank == kRankByArrival) {
    text += MakeString("one of ", size, " shards, numbered by the store");
  } else {
    text += MakeString("shard ", rank, " of ", size);
  }
  if (local_size > 0) text += MakeString(", local ", local_rank, " of ", local_size);
  if (!store.empty()) text += ", store " + store.ToString();
  if (!run_id.empty()) text += ", run_id " + run_id;
  if (restart_count > 0) text += MakeString(", restart ", restart_count);
  return text;
}

}  // namespace caffe2

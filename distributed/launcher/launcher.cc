#include "distributed/launcher/launcher.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <sstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "distributed/file_store_handler.h"
#include "distributed/host.h"
#include "distributed/launch_dialects.h"
#include "distributed/launcher/launch_report.h"
#include "distributed/launcher/local_runs.h"
#include "distributed/launcher/process_tree.h"
#include "distributed/launcher/restart_policy.h"
#include "distributed/launcher/run_attempt.h"
#include "distributed/launcher/watched_host_file.h"
#include "distributed/private_store.h"
#include "distributed/random_hex.h"
#include "distributed/redis_store_handler.h"
#include "distributed/run_record.h"
#include "distributed/signed_store.h"
#include "distributed/tcp_port.h"

namespace caffe2 {

namespace {

constexpr char kNoStore[] = "none";
constexpr char kLoopback[] = "127.0.0.1";
constexpr int kFirstPort = 20000, kPorts = 10000;  // below the range of ephemeral ports
constexpr milliseconds kReadLimit{1000};
constexpr int kRunIdBytes = 4, kPasswordBytes = 24;

bool ChoosesPlaces(LaunchEngine engine) {
  return engine == LaunchEngine::kMpi || engine == LaunchEngine::kSlurm;
}

bool AllHere(const std::vector<HostSlots>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [](const HostSlots& each) { return IsThisHost(each.host); });
}

Environment ExportedVariables(const std::vector<std::string>& exported) {
  const Environment own = ProcessEnvironment();
  Environment variables;
  for (const std::string& each : exported) {
    const size_t equals = each.find('=');
    const std::string name = each.substr(0, equals);
    CheckUsage(!name.empty(), "-x ", each, ": the name of the variable is missing");
    if (equals != std::string::npos) {
      variables[name] = each.substr(equals + 1);
    } else {
      CheckUsage(own.count(name) != 0, "-x ", name, ": this variable is not set; give ", name,
                 "=VALUE");
      variables[name] = own.at(name);
    }
  }
  return variables;
}

// Debian calls it so where other MPI libraries are installed too.
std::string MpirunProgram() {
  constexpr char kOpenMpi[] = "/usr/bin/mpirun.openmpi";
  return access(kOpenMpi, X_OK) == 0 ? kOpenMpi : "mpirun";
}

// A port of this host that is free now. For other hosts it is a guess.
int FreePort() {
  std::random_device random;
  int port = 0;
  do {
    port = kFirstPort + static_cast<int>(random() % kPorts);
  } while (ProbePort(kLoopback, port) != PortState::kFree);
  return port;
}

LaunchPlan MakePlan(const LauncherOptions& options) {
  CheckUsage(!options.command.empty(),
             "COMMAND is missing: write it after --, as in doppio run -n 4 -- mnist_trainer ...");
  LaunchPlan plan;
  plan.engine =
      options.engine.value_or(AllHere(options.hosts) ? LaunchEngine::kLocal : LaunchEngine::kSsh);
  plan.command = options.command;
  plan.hosts = options.hosts;
  const bool chooses = ChoosesPlaces(plan.engine);
  CheckUsage(plan.engine != LaunchEngine::kSsh || !plan.hosts.empty(),
             "--via ssh needs hosts: give -H HOST:SLOTS,... or --hostfile FILE");
  CheckUsage(
      plan.engine != LaunchEngine::kLocal || AllHere(plan.hosts),
      "--via local starts shards on this host only; leave out the other hosts of -H, or give "
      "--via ssh");
  CheckUsage(options.num_shards > 0 || !plan.hosts.empty(),
             "-n is missing: the number of shards to start");
  plan.num_shards = options.num_shards > 0 ? options.num_shards : TotalSlots(plan.hosts);
  if (plan.hosts.empty() && !chooses) plan.hosts = {{"localhost", plan.num_shards}};
  if (!plan.hosts.empty()) PlaceShards(plan.hosts, plan.num_shards);  // throws if they do not fit
  CheckUsage(options.min_shards <= plan.num_shards, "--min_shards is ", options.min_shards,
             ", but -n is ", plan.num_shards);
  CheckUsage(options.max_restarts > 0 || options.min_shards == 0,
             "--min_shards needs --max_restarts");
  CheckUsage(options.max_shards == 0 || options.max_shards >= plan.num_shards, "--max_shards is ",
             options.max_shards, ", but -n is ", plan.num_shards);
  CheckUsage(options.max_shards == 0 || !options.hostfile.empty(),
             "--max_shards needs --hostfile: a file to which hosts can be added");
  // A host that is added may fail at once, which must not end a run that was well.
  CheckUsage(options.max_shards == 0 || options.max_restarts >= RestartPolicy::kFailuresOfHost,
             "--max_shards needs --max_restarts ", RestartPolicy::kFailuresOfHost,
             " or more, to leave out a new host that fails");
  plan.run_id = options.run_id.empty() ? "run-" + RandomHex(kRunIdBytes) : options.run_id;
  CheckUsage(RunIdOf(plan.run_id) == plan.run_id, "--run_id is ", plan.run_id,
             ": only letters, digits, '.', '_' and '-' are possible, at most 200");
  plan.max_restarts = options.max_restarts;
  plan.exported = ExportedVariables(options.exported);
  plan.bind_cores = options.bind_cores;
  plan.doppio = options.doppio;
  plan.directory = std::filesystem::current_path();
  std::istringstream words(options.ssh);
  plan.ssh.clear();
  for (std::string word; words >> word;) plan.ssh.push_back(word);
  CheckUsage(!plan.ssh.empty(), "--ssh is empty: give a program, as in --ssh \"ssh -p 2222\"");
  plan.mpirun = MpirunProgram();
  plan.master_port = FreePort();
  return plan;
}

// Programs that are missing would fail once for each shard.
void CheckPrograms(const LaunchPlan& plan) {
  const Environment environment = ProcessEnvironment();
  switch (plan.engine) {
    case LaunchEngine::kLocal:
      FindProgram(plan.command[0], environment);
      break;
    case LaunchEngine::kSsh:
      FindProgram(plan.ssh[0], environment);
      break;
    case LaunchEngine::kMpi:
      FindProgram(plan.mpirun, environment);
      break;
    case LaunchEngine::kSlurm:
      FindProgram("srun", environment);
      break;
  }
}

// The store of the run and its password.
struct LaunchStore {
  std::string url, password;
  std::unique_ptr<PrivateStore> kept;
  std::unique_ptr<LocalRunFile> file;  // tells this user where it is
};

LaunchStore OpenStore(const LauncherOptions& options, const LaunchPlan& plan) {
  LaunchStore store;
  if (options.store == kNoStore) return store;
  if (!options.store.empty()) {
    const StoreUrl url = ParseStoreUrl(options.store, "--store");
    CheckUsage(url.user.empty(),
               "--store: a user name is not possible; give the password alone, with REDISCLI_AUTH");
    store.url = url.ToString();
    store.password = !url.password.empty() ? url.password : FindRedisPassword("");
    return store;
  }
  const bool here = AllHere(plan.hosts) && !ChoosesPlaces(plan.engine);
  PrivateStoreOptions keeper;
  keeper.url = StoreAt({here ? kLoopback : RoutedAddress(), StorePortOf(std::random_device()())});
  keeper.run_id = plan.run_id;
  keeper.num_shards = plan.num_shards;
  keeper.password = store.password = RandomHex(kPasswordBytes);
  keeper.secret = FindStoreSecret();
  try {
    store.kept = std::make_unique<PrivateStore>(keeper);
  } catch (const IoError& error) {
    throw WithExitCode<IoError>(
        ExitCodeOf(error),
        MakeString("cannot start a store for the run; install redis-server, or give --store "
                   "redis://HOST, --store file:///DIRECTORY or --store none: ",
                   error.what()));
  }
  store.url = "redis://" + FormatHostPort(store.kept->redis().host, store.kept->redis().port);
  store.file = std::make_unique<LocalRunFile>(LocalRun{plan.run_id, store.kept->redis()});
  return store;
}

// How to read what the shards of the run wrote. Throws like FindPrivateStore does.
StoreFactory StoresOf(const LaunchStore& store, const LaunchPlan& plan) {
  const StoreUrl url = ParseStoreUrl(store.url, "--store");
  const std::string secret = FindStoreSecret();
  if (url.kind == StoreUrl::Kind::kFile) return SignedStores(FileStores(url.path), secret);
  if (store.kept) return SignedStores(RedisStores(store.kept->redis()), secret);
  RedisOptions redis;
  if (url.kind == StoreUrl::Kind::kTcp) {
    redis = FindPrivateStore({.url = url,
                              .run_id = plan.run_id,
                              .num_shards = plan.num_shards,
                              .password = store.password,
                              .secret = secret},
                             kReadLimit);
  } else {
    redis.host = url.host;
    redis.port = url.port;
    redis.database = url.database;
    redis.tls = url.tls;
    redis.password = store.password;
  }
  return SignedStores(RedisStores(redis), secret);
}

// Asks the store of the run whether it goes on without a shard that has failed. Without a store, or
// if the shards use another one, it does not.
bool RunGoesOnWithout(int shard, const LaunchStore& store, const LaunchPlan& plan) {
  if (store.url.empty()) return false;
  try {
    const std::unique_ptr<StoreHandler> keys = StoresOf(store, plan)(plan.run_id);
    keys->SetDeadline(Deadline(kReadLimit));
    return GoesOnWithout(keys.get(), shard);
  } catch (const std::exception& error) {
    LOG(WARNING) << "cannot ask the store whether the run goes on without shard " << shard << ": "
                 << error.what();
    return false;
  }
}

std::string MasterAddress(const LaunchPlan& plan) {
  if (plan.hosts.empty()) return plan.engine == LaunchEngine::kMpi ? RoutedAddress() : "";
  const std::string& first = plan.hosts[0].host;
  if (!IsThisHost(first)) return first;
  return AllHere(plan.hosts) ? kLoopback : RoutedAddress();
}

void MakeLogDirectory(const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || access(path.c_str(), W_OK) != 0) {
    ThrowIoError(ExitCode::kCannotWrite, "--log_dir: cannot write to ", path, ": ",
                 error ? error.message() : "no permission");
  }
}

// Until the launcher follows its shards, a signal must not end it and leave its store.
void BlockSignals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
}

// What to do after a try that failed, or that was stopped to go on with more shards.
RestartDecision NextTry(const AttemptResult& result, const std::function<void()>& take_hosts,
                        RestartPolicy* policy) {
  if (result.StoppedToGrow()) {
    const int shards = policy->PossibleShards();
    return {true, MakeString("starting again with ", shards, " shards"), shards,
            policy->UsableHosts()};
  }
  take_hosts();
  const ShardEnd* suspect = result.Suspect();
  return policy->Next(suspect == nullptr ? "" : suspect->host, LauncherExitStatus(result));
}

}  // namespace

int RunLauncher(const LauncherOptions& options) {
  LaunchPlan plan = MakePlan(options);
  CheckPrograms(plan);
  MakeLogDirectory(options.log_dir);
  BlockSignals();
  AdoptOrphans();
  LaunchStore store = OpenStore(options, plan);
  plan.store_url = store.url;
  plan.has_password = !store.password.empty();
  // mpirun and srun take it to the shards; it is on no command line.
  if (plan.has_password) setenv("REDISCLI_AUTH", store.password.c_str(), 1);
  plan.shows_bar = isatty(STDERR_FILENO) != 0;
  OutputWriter output(STDOUT_FILENO), error(STDERR_FILENO);
  std::optional<StderrThroughWriter> log;
  if (plan.shows_bar) log.emplace(&error);
  AttemptOptions attempt;
  attempt.password = store.password;
  attempt.log_dir = options.log_dir;
  attempt.stop_grace = std::chrono::seconds(options.stop_seconds);
  // One writer for one terminal, so that no line is mixed with the progress bar.
  attempt.output = plan.shows_bar && isatty(STDOUT_FILENO) != 0 ? &error : &output;
  attempt.error = &error;
  attempt.goes_on_without = [&](int shard) { return RunGoesOnWithout(shard, store, plan); };
  RestartPolicy policy(std::max(plan.num_shards, options.max_shards),
                       options.min_shards > 0 ? options.min_shards : plan.num_shards,
                       options.max_restarts, plan.hosts);
  WatchedHostFile file(options.hostfile, plan.hosts,
                       AllHere(plan.hosts) && !ChoosesPlaces(plan.engine));
  const auto take_hosts = [&] {
    if (options.hostfile.empty()) return;
    if (auto hosts = file.ReadIfChanged()) policy.SetHosts(std::move(*hosts));
  };
  if (options.max_shards > 0) {
    attempt.can_grow = [&] {
      take_hosts();
      return policy.PossibleShards() > plan.num_shards;
    };
  }
  while (true) {
    plan.master_addr = MasterAddress(plan);
    const AttemptResult result = RunAttempt(plan, attempt);
    error.Write(ReportOf(plan, result, options.log_dir));
    if (!result.StoppedToGrow() && (result.ok() || result.signal != 0))
      return LauncherExitStatus(result);
    const RestartDecision decision = NextTry(result, take_hosts, &policy);
    if (options.max_restarts > 0 || decision.restart) {
      error.Write(MakeString("doppio: run ", plan.run_id, ": ", decision.reason, "\n"));
    }
    if (!decision.restart) return LauncherExitStatus(result);
    ++plan.restart_count;
    plan.hosts = decision.hosts;
    plan.num_shards = decision.num_shards;
  }
}

}  // namespace caffe2

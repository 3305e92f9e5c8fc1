// doppio top, doppio runs, doppio clean: looking at the runs of a store.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "distributed/file_store_handler.h"
#include "distributed/launcher/local_runs.h"
#include "distributed/private_store.h"
#include "distributed/run_inspection.h"
#include "distributed/signed_store.h"
#include "distributed/store_handler.h"
#include "distributed/store_url.h"
#include "examples/doppio/commands.h"
#include "examples/doppio/help_format.h"
#include "examples/doppio/redis_flags.h"

namespace caffe2 {
namespace {

using Row = std::vector<std::string>;

// Longer than two heartbeats of a busy machine; longer than a lease.
constexpr milliseconds kGlance{2500}, kCertainty{11000};

struct StoreFlags {
  RedisOptions redis = {.host = ""};
  std::string password_file, secret_file, directory, url, run_id;
  bool once = false, check = false;
  double interval = 1;
};

// Last, because people give the other options more often.
void AddStoreOptions(const std::shared_ptr<StoreFlags>& flags, CLI::App* command) {
  const std::string group = command->option_defaults()->get_group();
  command->option_defaults()->group("Store");
  command->add_option(
      "--store", flags->url,
      "redis://HOST, file:///DIRECTORY, or tcp://HOST:PORT of a run; default: the store of doppio "
      "run on this machine");
  command->add_option("--redis_host", flags->redis.host, "host of the Redis server");
  command->add_option("--file_store_path", flags->directory, "the directory of a file store");
  command->add_option(
      "--secret_file", flags->secret_file,
      "file with the secret that signs the run's values; default: as for the trainers");
  command->option_defaults()->group(group);
  AddRedisOptions(command, &flags->redis, &flags->password_file);
  command->add_option("--redis_db", flags->redis.database, "number of its database; default: 0")
      ->group(kRedisGroup);
}

// Connects to the store that shard 0 of a run keeps. Without another password the run id is it.
RedisOptions StoreOfRun(const StoreUrl& url, const StoreFlags& flags) {
  constexpr milliseconds kPatience{5000};
  CheckUsage(!flags.run_id.empty(), "--store ", url.ToString(),
             " needs --run_id: the store belongs to one run");
  const PrivateStoreOptions options{.url = url,
                                    .run_id = flags.run_id,
                                    .password = FindRedisPassword(flags.password_file),
                                    .secret = FindStoreSecret(flags.secret_file)};
  return FindPrivateStore(options, kPatience);
}

bool NamesStore(const StoreFlags& flags) {
  return !flags.url.empty() || !flags.redis.host.empty() || !flags.directory.empty();
}

constexpr char kStoreFlags[] = "--redis_host HOST, --file_store_path DIRECTORY or --store URL";

// The store of a run of `doppio run` on this machine: --run_id, or the only one.
RedisOptions StoreOfLocalRun(const StoreFlags& flags) {
  std::vector<LocalRun> runs = FindLocalRuns();
  std::vector<std::string> ids;
  for (const LocalRun& run : runs) {
    if (run.run_id == flags.run_id) return run.redis;
    ids.push_back(run.run_id);
  }
  CheckUsage(!runs.empty(), "where is the run? No doppio run of this user is under way on this ",
             "machine. Give ", kStoreFlags);
  CheckUsage(flags.run_id.empty(), "no doppio run ", flags.run_id,
             " is under way on this machine, ", "only ", JoinKeys(ids),
             ". For a run in another store give ", kStoreFlags);
  CheckUsage(runs.size() == 1, "--run_id is needed: on this machine are the runs ", JoinKeys(ids));
  return runs[0].redis;
}

RunInspector Open(StoreFlags flags) {
  const int given = !flags.url.empty() + !flags.redis.host.empty() + !flags.directory.empty();
  CheckUsage(given <= 1, "give only one of ", kStoreFlags);
  if (given == 0) flags.redis = StoreOfLocalRun(flags);
  if (!flags.url.empty()) {
    const StoreUrl url = ParseStoreUrl(flags.url, "--store");
    flags.directory = url.path;
    if (url.kind == StoreUrl::Kind::kTcp) flags.redis = StoreOfRun(url, flags);
    if (url.kind == StoreUrl::Kind::kRedis) {
      flags.redis.host = url.host;
      flags.redis.port = url.port;
      if (!url.user.empty()) flags.redis.user = url.user;
      flags.redis.password = url.password;
      if (url.database != 0) flags.redis.database = url.database;
      flags.redis.tls = flags.redis.tls || url.tls;
    }
  }
  CheckTlsFiles(flags.redis, "--redis_tls or --store rediss://HOST");
  const std::string secret = FindStoreSecret(flags.secret_file);
  if (!flags.directory.empty()) {
    return {SignedStores(FileStores(flags.directory), secret), NewFileBrowser(flags.directory)};
  }
  if (flags.redis.password.empty()) flags.redis.password = FindRedisPassword(flags.password_file);
  return {SignedStores(RedisStores(flags.redis), secret), NewRedisBrowser(flags.redis)};
}

// Columns of equal width, two blanks apart.
std::string Table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.at(0).size(), 0);
  for (const Row& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      line += row[c] + std::string(widths[c] - row[c].size() + 2, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

// A value of the store, which may be anything.
std::string Shown(const std::map<std::string, std::string>& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() || found->second.empty() ? "-" : OneLine(found->second);
}

std::string LifeText(ShardLife life) {
  return life == ShardLife::kAlive ? "alive" : life == ShardLife::kDead ? "dead" : "silent";
}

// The epoch that is under way, counted from 1 as in the line of progress; the store has it from 0.
std::string EpochText(const std::map<std::string, std::string>& status) {
  const std::string epoch = Shown(status, "epoch");
  const bool number =
      epoch.size() < 9 && epoch.find_first_not_of("0123456789") == std::string::npos;
  return number ? std::to_string(std::atoi(epoch.c_str()) + 1) : epoch;
}

// The number and the name of the newest collective operation.
std::string CollectiveText(const std::map<std::string, std::string>& heartbeat) {
  const std::string operation = Shown(heartbeat, "operation");
  return Shown(heartbeat, "collective") + (operation == "-" ? "" : " " + operation);
}

std::string ListText(const std::vector<int>& shards) {
  std::string text;
  for (const int shard : shards) text += (text.empty() ? "" : ",") + std::to_string(shard);
  return text.empty() ? "-" : text;
}

std::string TopText(const RunView& run) {
  std::vector<Row> rows = {{"SHARD", "HOST", "PID", "STATE", "EPOCH", "ITERATION", "IMAGES/S",
                            "LOSS", "COLLECTIVE", "WAITS FOR"}};
  double speed = 0;
  bool speed_known = false;
  for (size_t s = 0; s < run.shards.size(); ++s) {
    const ShardView& shard = run.shards[s];
    const bool alive = shard.life == ShardLife::kAlive;
    const std::string images = Shown(shard.status, "images_per_second");
    const bool logged = images != "0";  // the first --log_every iterations are over
    if (alive) speed += std::atof(images.c_str());
    speed_known |= alive && logged && images != "-";
    rows.push_back({std::to_string(s), Shown(shard.status, "host"), Shown(shard.status, "pid"),
                    alive ? Shown(shard.status, "state") : LifeText(shard.life),
                    EpochText(shard.status), Shown(shard.status, "iteration"),
                    logged ? images : "-", logged ? Shown(shard.status, "loss") : "-",
                    CollectiveText(shard.heartbeat), ListText(shard.waits_for)});
  }
  return MakeString("run ", run.run_id, ", generation ", run.generation, ", ", run.shards.size(),
                    " shards, ", LifeText(run.life()), ", ", speed_known ? MakeString(speed) : "-",
                    " images/s\n") +
         (run.failure.empty() ? "" : run.failure + "\n") + Table(rows);
}

// The run that --run_id names, or the only one of the store.
std::string ChooseRun(const std::string& run_id, RunInspector* inspector) {
  const std::vector<std::string> ids = inspector->RunIds();
  if (run_id.empty() && ids.size() == 1) return ids[0];
  if (ids.empty()) {
    const std::string run = run_id.empty() ? "run" : "run " + run_id;
    ThrowIoError(ExitCode::kNoInput, "there is no ", run, " in the store");
  }
  CheckUsage(!run_id.empty(), "--run_id is needed: the store has the runs ", JoinKeys(ids));
  if (std::find(ids.begin(), ids.end(), run_id) != ids.end()) return run_id;
  ThrowIoError(ExitCode::kNoInput, "there is no run ", run_id, " in the store; it has ",
               JoinKeys(ids));
}

// For health checks of containers.
void CheckAllAlive(const RunView& run) {
  if (run.shards.empty()) {
    ThrowIoError(ExitCode::kPeerLost, "run ", run.run_id, " has no shards that can be read");
  }
  for (size_t s = 0; s < run.shards.size(); ++s) {
    const ShardLife life = run.shards[s].life;
    if (life == ShardLife::kAlive) continue;
    ThrowIoError(ExitCode::kPeerLost, "shard ", s, " of run ", run.run_id, " is ", LifeText(life));
  }
}

int Top(const StoreFlags& flags) {
  RunInspector inspector = Open(flags);
  const std::string id = ChooseRun(flags.run_id, &inspector);
  RunView run = inspector.Watch({id}, kGlance).at(0);
  const bool terminal = isatty(STDOUT_FILENO);
  while (true) {
    std::printf("%s%s", terminal && !flags.once && !flags.check ? "\033[H\033[2J" : "",
                TopText(run).c_str());
    std::fflush(stdout);
    if (flags.check) CheckAllAlive(run);
    if (flags.once || flags.check || run.life() == ShardLife::kDead) return 0;
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.interval));
    run = inspector.Read(id);
  }
}

void AddRuns(const StoreFlags& flags, std::vector<Row>* rows) {
  RunInspector inspector = Open(flags);
  for (const RunView& run : inspector.Watch(inspector.RunIds(), kGlance)) {
    const std::map<std::string, std::string> none;
    const auto& status = run.shards.empty() ? none : run.shards[0].status;
    rows->push_back({OneLine(run.run_id), LifeText(run.life()), std::to_string(run.generation),
                     std::to_string(run.shards.size()), EpochText(status),
                     Shown(status, "iteration"), Shown(status, "host"),
                     run.failure.empty() ? "-" : run.failure});
  }
}

// A table without rows looks like an answer that is still to come.
void SayThereAreNone(bool names_store) {
  if (names_store) {
    std::fprintf(stderr, "doppio: the store has no runs\n");
  } else {
    std::fprintf(stderr,
                 "doppio: no doppio run of this user is under way on this machine; for runs in "
                 "another store give %s\n",
                 kStoreFlags);
  }
}

int Runs(const StoreFlags& flags) {
  std::vector<Row> rows = {
      {"RUN", "LIFE", "GENERATION", "SHARDS", "EPOCH", "ITERATION", "HOST", "FAILURE"}};
  if (NamesStore(flags)) {
    AddRuns(flags, &rows);
  } else {
    for (const LocalRun& run : FindLocalRuns()) {
      StoreFlags of_run = flags;
      of_run.redis = run.redis;
      try {
        AddRuns(of_run, &rows);
      } catch (const IoError&) {  // it ends now, or its store is lost
        rows.push_back({OneLine(run.run_id), "unknown", "-", "-", "-", "-", "-", "no answer"});
      }
    }
  }
  std::printf("%s", Table(rows).c_str());
  if (rows.size() == 1) SayThereAreNone(NamesStore(flags));
  return 0;
}

std::string WhoLives(const RunView& run) {
  for (size_t s = 0; s < run.shards.size(); ++s) {
    const ShardView& shard = run.shards[s];
    if (shard.life == ShardLife::kDead) continue;
    if (!shard.member) break;
    return MakeString("shard ", s, " (", shard.member->Describe(), ") is ", LifeText(shard.life));
  }
  return "its values cannot be read; a signed run needs --secret_file";
}

int Clean(const StoreFlags& flags) {
  RunInspector inspector = Open(flags);
  std::vector<std::string> ids = inspector.RunIds();
  if (!flags.run_id.empty()) ids = {ChooseRun(flags.run_id, &inspector)};
  if (ids.empty()) std::printf("the store has no runs: nothing to remove\n");
  inspector.Watch(ids, kCertainty);
  for (const std::string& id : ids) {
    const RunView run = inspector.Read(id);  // again: a new run may have taken the name
    if (run.life() == ShardLife::kDead) {
      std::printf("removed run %s (%zu keys)\n", id.c_str(), inspector.Remove(id));
      continue;
    }
    if (!flags.run_id.empty()) {
      ThrowIoError(ExitCode::kNotPermitted, "run ", id, " is not dead: ", WhoLives(run),
                   "; end it first");
    }
    std::printf("kept run %s: %s\n", id.c_str(), WhoLives(run).c_str());
  }
  return 0;
}

// Says what to do if the Redis server that the words name does not answer.
int RunOnStore(int (*body)(const StoreFlags&), const StoreFlags& flags) {
  try {
    return body(flags);
  } catch (const StoreUnreachable& error) {
    const bool redis = flags.url.rfind("redis", 0) == 0;
    if (!redis && flags.redis.host.empty()) throw;
    throw StoreUnreachable(MakeString(
        error.what(), ": ", RedisRemedy(redis ? "--store" : "--redis_host and --redis_port")));
  }
}

CLI::App* AddStoreCommand(const std::string& name, const std::string& description,
                          int (*body)(const StoreFlags&), CLI::App* program, Action* action,
                          const std::shared_ptr<StoreFlags>& flags) {
  CLI::App* command = program->add_subcommand(name, description);
  command->callback(
      [flags, body, action] { *action = [flags, body] { return RunOnStore(body, *flags); }; });
  return command;
}

}  // namespace

void AddStoreCommands(CLI::App* program, Action* action) {
  const auto flags = std::make_shared<StoreFlags>();  // of the one command that is given
  CLI::App* top = AddStoreCommand("top", "show what the shards of a run are doing", Top, program,
                                  action, flags);
  top->add_option("--run_id", flags->run_id, "the run; default: the only one of the store");
  top->add_flag("--once", flags->once, "print the table once, for scripts");
  top->add_flag("--check", flags->check,
                "print the table once, and fail with status 75 unless all shards are alive");
  top->add_option("--interval", flags->interval,
                  "seconds between two tables, 0.1 to 3600; default: 1")
      ->check([](const std::string& text) {
        double seconds = 0;
        const bool number = CLI::detail::lexical_cast(text, seconds);
        return number && seconds >= 0.1 && seconds <= 3600
                   ? std::string()
                   : "must be from 0.1 to 3600, found " + text;
      });
  AddStoreOptions(flags, top);
  top->footer(Examples({"doppio top", "doppio top --run_id mnist-1 --once",
                        "doppio top --store redis://10.0.0.5 --run_id mnist-1 --check"}));
  CLI::App* runs = AddStoreCommand("runs", "list the runs of a store, live and dead", Runs, program,
                                   action, flags);
  runs->add_option("--run_id", flags->run_id, "the run of a tcp:// store");
  AddStoreOptions(flags, runs);
  runs->footer(Examples({"doppio runs", "doppio runs --redis_host 10.0.0.5",
                         "doppio runs --store file:///tmp/store"}));
  CLI::App* clean = AddStoreCommand("clean", "remove what dead runs have left in a store", Clean,
                                    program, action, flags);
  clean->add_option("--run_id", flags->run_id, "only this run; default: all that are dead");
  AddStoreOptions(flags, clean);
  clean->footer(Examples({"doppio clean --redis_host 10.0.0.5",
                          "doppio clean --run_id mnist-1 --store file:///tmp/store"}));
}

}  // namespace caffe2

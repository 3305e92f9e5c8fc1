#include "distributed/private_store.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "distributed/host.h"
#include "distributed/run_membership.h"
#include "distributed/run_record.h"
#include "distributed/signed_store.h"
#include "distributed/tcp_port.h"

namespace caffe2 {

namespace {

using Clock = std::chrono::steady_clock;

// The record of the process that keeps the store, and its address.
constexpr char kKeeperKey[] = "store";
constexpr char kClaimsKey[] = "claims";  // the number of shards that have asked for a shard id
constexpr char kEndKey[] = "ended";
constexpr char kGoodEnd[] = "well";
constexpr char kAddress[] = "address";
constexpr char kNoKeeper[] = "a store without this run";

constexpr milliseconds kStartTimeout{10000};
constexpr milliseconds kCommandTimeout{2000};
constexpr milliseconds kConnectTimeout{1000};
constexpr milliseconds kPoll{50}, kSlowPoll{200};
constexpr milliseconds kLogWaitEvery{5000}, kStrangerAgainAfter{5000};
// The server of a dead keeper ends within this time.
constexpr milliseconds kKeeperEnds{2000};
constexpr milliseconds kSilence{12000};  // after this time without members, all shards are gone

std::string PasswordOf(const PrivateStoreOptions& options) {
  if (options.password.empty()) return options.run_id;
  const bool plain = std::all_of(
      options.password.begin(), options.password.end(),
      [](unsigned char c) { return std::isgraph(c) && c != '"' && c != '\'' && c != '\\'; });
  if (!plain || options.password.size() > 512) {
    ThrowUsage(
        "the password of a tcp:// store must be at most 512 printable characters without blanks, "
        "quotes and backslashes");
  }
  return options.password;
}

// The server writes nothing to a disk. Its password permits only the commands that shards, and
// people who look at the run, need.
std::string Configuration(const std::vector<std::string>& addresses, int port,
                          const std::string& password) {
  std::string bind = "bind";
  for (const std::string& address : addresses) bind += " " + address;
  return MakeString(bind, "\nport ", port,
                    "\ndaemonize no\nlogfile \"\"\nloglevel warning\ndatabases 1\n"
                    "save \"\"\nappendonly no\ndbfilename doppio-none.rdb\n"
                    "maxmemory 256mb\nmaxmemory-policy noeviction\ntcp-keepalive 60\n"
                    "user default reset on >",
                    password,
                    " ~* +@read +auth +hello +ping +echo +select +quit +set +incrby +del +pexpire "
                    "+hset +info +command\n");
}

RedisOptions Connection(const std::string& host, int port, const std::string& password) {
  RedisOptions redis;
  redis.host = host;
  redis.port = port;
  redis.password = password;
  return redis;
}

// Short time limits, to find out whether there is a store at all.
RedisOptions Glance(RedisOptions redis) {
  redis.connect_timeout = kConnectTimeout;
  redis.command_timeout = kCommandTimeout;
  return redis;
}

// A connection to the run's store, whose values are signed if the run has a secret.
std::unique_ptr<StoreHandler> Open(const RedisOptions& redis, const PrivateStoreOptions& options) {
  return SignedStores(RedisStores(redis), options.secret)(options.run_id);
}

// The record of the process that keeps the run's store at this address. If there is none, returns
// nullopt and sets `problem` to what answered instead.
std::optional<std::string> FindKeeper(const RedisOptions& redis, const PrivateStoreOptions& options,
                                      std::string* problem) {
  try {
    auto text = Open(Glance(redis), options)->TryGet(kKeeperKey);
    if (text) return text;
    *problem = kNoKeeper;
  } catch (const IoError& error) {
    *problem = error.what();
  }
  return std::nullopt;
}

bool AllLoopback(const std::vector<std::string>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(), IsLoopback);
}

bool MeansLoopback(const std::string& host) { return host == "localhost" || IsLoopback(host); }

// True for "job-0.job" on host job-0. Kubernetes resolves such a name only after the pod has
// started.
bool IsOwnNameInDomain(const std::string& host) {
  char own[256] = "";
  gethostname(own, sizeof own - 1);
  const size_t dot = host.find('.');
  return dot != std::string::npos && host.substr(0, dot) == own;
}

std::vector<std::string> ResolveOwnHost(const StoreUrl& url) {
  try {
    return ResolveHost(url.host);
  } catch (const IoError& error) {
    if (IsOwnNameInDomain(url.host)) return {RoutedAddress()};
    ThrowIoError(ExitCode::kUsage, url.ToString(), ": ", error.what(),
                 "; shard 0 keeps the store and must run on that host");
  }
}

// The addresses of the URL's host that belong to this host.
std::vector<std::string> OwnAddresses(const StoreUrl& url) {
  std::vector<std::string> own;
  for (const std::string& address : ResolveOwnHost(url)) {
    if (ProbePort(address, url.port) != PortState::kNotThisHost) own.push_back(address);
  }
  if (own.empty()) {
    ThrowIoError(ExitCode::kUsage, url.ToString(), ": ", url.host,
                 " is not an address of this host (this host is ", RoutedAddress(),
                 "); shard 0 keeps the store and must run on that host");
  }
  // Many systems map their own name to a loopback address.
  if (AllLoopback(own) && !MeansLoopback(url.host)) own.push_back(RoutedAddress());
  return own;
}

// The address that shards on other hosts should use.
std::string BestAddress(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    if (!IsLoopback(address)) return address;
  }
  return addresses.at(0);
}

// Observes the run without joining it.
class RunWatch {
 public:
  RunWatch(std::unique_ptr<StoreHandler> store, int num_shards)
      : store_(std::move(store)), num_shards_(num_shards) {}

  // False before the first shard joins, and after the last one has left cleanly.
  bool IsThere() {
    if (const auto text = store_->TryGet("generation")) {
      generation_ = ParseGeneration(*text);
      return true;
    }
    return store_->Check({MakeString(generation_, "/leaving")});
  }
  // The shards, except this process, that hold a place and are not known to be dead.
  std::vector<int> Members() {
    std::vector<int> members;
    for (int shard = 0; shard < num_shards_; ++shard) {
      const auto text = store_->TryGet(MakeString(generation_, "/member/", shard));
      const auto record = text ? MemberRecord::Parse(*text) : std::nullopt;
      if (!record) continue;
      const ProcessId& process = record->process;
      const bool here = process.on_this_host();
      if (here && (process.pid == ProcessId::Self().pid || !process.IsAlive())) continue;
      members.push_back(shard);
    }
    return members;
  }
  // True while shards that have ended well remove the run's keys. The last one removes its own
  // record first.
  bool IsLeaving() {
    return store_->Check({MakeString(generation_, "/leaving")}) &&
           !store_->Check({MakeString(generation_, "/failure")});
  }
  // The value that AnnounceEnd() has set: kGoodEnd or the failure of the run.
  std::optional<std::string> End() { return store_->TryGet(kEndKey); }

 private:
  std::unique_ptr<StoreHandler> store_;
  const int num_shards_;
  int generation_ = 1;
};

// Searches for the store that another process keeps.
class StoreSearch {
 public:
  explicit StoreSearch(const PrivateStoreOptions& options)
      : options_(options), password_(PasswordOf(options)) {}

  RedisOptions Run(milliseconds timeout) {
    const Deadline deadline(timeout);
    auto next_progress = Clock::now() + kLogWaitEvery;
    while (!Look(deadline)) {
      if (deadline.expired()) {
        throw WithExitCode<TimeoutError>(
            ExitCode::kStoreUnreachable,
            MakeString("run ", options_.run_id, ": no store at ", options_.url.ToString(),
                       " within ", timeout.count() / 1000.0, " s", Problem(),
                       "; does shard 0 run on ", options_.url.host, "?"));
      }
      if (Clock::now() >= next_progress) {
        next_progress += kLogWaitEvery;
        LOG(INFO) << "run " << options_.run_id << ": waiting for shard 0, which keeps the store at "
                  << options_.url.ToString() << Problem() << " (deadline in "
                  << deadline.remaining().count() / 1000 << " s)";
      }
      if (options_.while_waiting) options_.while_waiting();
      std::this_thread::sleep_for(kSlowPoll);
    }
    return found_;
  }

 private:
  struct Port {
    std::string problem;              // what answers there instead of the store
    Deadline again{milliseconds(0)};  // do not look there again before
  };

  // True once the store is found.
  bool Look(const Deadline& deadline) {
    std::vector<std::string> addresses;
    try {
      addresses = ResolveHost(options_.url.host);
      unresolved_.clear();
    } catch (const IoError& error) {  // the name of a pod exists only after the pod has started
      unresolved_ = error.what();
    }
    for (int i = 0; i < options_.url.num_ports; ++i) {
      for (const std::string& address : addresses) {
        if (LookAt(address, options_.url.port + i)) return true;
        // A look at a host that does not answer takes a second.
        if (deadline.expired()) return false;
        if (options_.while_waiting) options_.while_waiting();
      }
    }
    return false;
  }

  bool LookAt(const std::string& address, int port) {
    Port& state = ports_[port];
    if (!state.again.expired() || !AcceptsConnections(address, port, kConnectTimeout)) return false;
    const RedisOptions redis = Connection(address, port, password_);
    const auto text = FindKeeper(redis, options_, &state.problem);
    if (!text) {
      // A store without this run may be new: shard 0 is about to write its record.
      if (state.problem != kNoKeeper) state.again = Deadline(kStrangerAgainAfter);
      return false;
    }
    found_ = redis;
    // Other hosts cannot use a loopback address.
    RunRecord keeper = ParseRecord(*text).value_or(RunRecord());
    if (IsLoopback(address) && !keeper[kAddress].empty()) found_.host = keeper[kAddress];
    return true;
  }

  std::string Problem() const {
    if (!unresolved_.empty()) return "; " + unresolved_;
    for (const auto& [port, state] : ports_) {
      if (!state.problem.empty()) return MakeString("; port ", port, ": ", state.problem);
    }
    return "";
  }

  const PrivateStoreOptions options_;
  const std::string password_;
  std::map<int, Port> ports_;
  std::string unresolved_;
  RedisOptions found_;
};

}  // namespace

PrivateStore::PrivateStore(const PrivateStoreOptions& options) : options_(options) {
  CheckRunId(options.run_id);
  const std::vector<std::string> addresses = OwnAddresses(options.url);
  for (int port = options.url.port; port < options.url.port + options.url.num_ports; ++port) {
    if (!StartOn(addresses, port)) continue;
    LOG(INFO) << "run " << options.run_id << ": its store is at "
              << FormatHostPort(redis_.host, port) << ", kept by this process with "
              << process_->program();
    return;
  }
  ThrowIoError(ExitCode::kStoreUnreachable, options.url.ToString(),
               ": in use by other programs; give another port with --init_method");
}

bool PrivateStore::StartOn(const std::vector<std::string>& addresses, int port) {
  redis_ = Connection(BestAddress(addresses), port, PasswordOf(options_));
  if (IsInUse(addresses, port)) return false;
  process_ = std::make_unique<RedisProcess>(Configuration(addresses, port, redis_.password));
  if (!WaitForServer()) return false;
  RunRecord keeper = ParseRecord(MemberRecord{ProcessId::Self(), NowMs() / 1000}.Format()).value();
  keeper[kAddress] = redis_.host;
  Open(redis_, options_)->Set(kKeeperKey, FormatRecord(keeper));
  return true;
}

// Waits for the server of a dead keeper of this run to end, and then returns false.
bool PrivateStore::IsInUse(const std::vector<std::string>& addresses, int port) const {
  const Deadline keeper_ends(kKeeperEnds);
  auto in_use = [&](const std::string& address) {
    return ProbePort(address, port) == PortState::kInUse;
  };
  while (std::any_of(addresses.begin(), addresses.end(), in_use)) {
    std::string problem;
    const auto text = FindKeeper(redis_, options_, &problem);
    const auto keeper = text ? MemberRecord::Parse(*text) : std::nullopt;
    if (!keeper || keeper_ends.expired()) return true;
    if (!keeper->process.on_this_host() || keeper->process.IsAlive()) {
      throw RunConflict(
          ExitCode::kNotPermitted,
          MakeString("run_id ", options_.run_id, " is in use: its store at ",
                     FormatHostPort(redis_.host, port), " is kept by ", keeper->Describe(),
                     ", since ", keeper->AgeSeconds(), " s; use another run_id or end that run"));
    }
    std::this_thread::sleep_for(kPoll);
  }
  return false;
}

// Returns false if another program took the port first.
bool PrivateStore::WaitForServer() {
  const Deadline deadline(kStartTimeout);
  while (!AcceptsConnections(redis_.host, redis_.port, kConnectTimeout)) {
    const bool ended = !process_->running();
    if (ended && process_->output().find("in use") != std::string::npos) return false;
    if (ended || deadline.expired()) {
      ThrowIoError(ExitCode::kStoreUnreachable, process_->program(), " does not serve ",
                   FormatHostPort(redis_.host, redis_.port), ": ", process_->output());
    }
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

PrivateStore::~PrivateStore() {
  try {
    RunWatch run(Open(Glance(redis_), options_), options_.num_shards);
    const Deadline deadline(kLinger);
    while (run.IsThere() && (!run.Members().empty() || run.IsLeaving()) && !deadline.expired()) {
      std::this_thread::sleep_for(kPoll);
    }
  } catch (const std::exception& error) {
    LOG(WARNING) << "run " << options_.run_id
                 << ": the store ends without waiting for the other shards: " << error.what();
  }
}

void PrivateStore::WaitForRun(milliseconds join_timeout) {
  RunWatch run(Open(redis_, options_), options_.num_shards);
  const Deadline join(join_timeout);
  Deadline silence(kSilence);
  for (bool has_come = false;; std::this_thread::sleep_for(kSlowPoll)) {
    has_come = run.IsThere() || has_come;
    if (!has_come || !run.Members().empty()) silence = Deadline(kSilence);
    const auto end = run.End();
    if (end && run.Members().empty()) {
      if (*end == kGoodEnd) return;
      ThrowIoError(ExitCode::kPeerLost, "run ", options_.run_id, ": ", *end);
    }
    if (silence.expired()) {
      ThrowIoError(ExitCode::kPeerLost, "run ", options_.run_id, ": all shards are gone");
    }
    if (!has_come && join.expired()) {
      throw TimeoutError(MakeString("run ", options_.run_id, ": no shard joined within ",
                                    join_timeout.count() / 1000.0, " s"));
    }
    if (options_.while_waiting) options_.while_waiting();
  }
}

RedisOptions FindPrivateStore(const PrivateStoreOptions& options, milliseconds timeout) {
  return StoreSearch(options).Run(timeout);
}

int ClaimNumber(const StoreFactory& stores, const std::string& run_id, const std::string& kind,
                int count) {
  const int64_t claim = stores(run_id)->Add(kClaimsKey + ("/" + kind), 1);
  if (claim > count) {
    ThrowIoError(ExitCode::kDisagreement, "run ", run_id, ": this is process ", claim,
                 ", but the run has ", count, " ", kind, "; start a new run to try again");
  }
  return static_cast<int>(claim - 1);
}

void AnnounceEnd(const StoreFactory& stores, const std::string& run_id,
                 const std::string& failure) {
  stores(run_id)->Put(kEndKey, failure.empty() ? kGoodEnd : failure);
}

}  // namespace caffe2

#include "distributed/private_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "caffe2/core/usage_error.h"
#include "distributed/host.h"
#include "distributed/run_membership.h"
#include "distributed/tcp_port.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

#define REQUIRE_REDIS_SERVER() \
  if (!PrivateRedis().started()) GTEST_SKIP() << "redis-server is not installed"

PrivateStoreOptions ServerOptions(int ports = 1) {
  PrivateStoreOptions options;
  options.url.kind = StoreUrl::Kind::kTcp;
  options.url.host = "127.0.0.1";
  options.url.port = FreePort();
  options.url.num_ports = ports;
  options.run_id = "run";
  options.num_shards = 2;
  return options;
}

// Everything that the processes of this user show of themselves.
std::string CommandLines() {
  std::string all;
  FILE* ps = popen("ps -eo args", "r");
  char line[4096];
  while (fgets(line, sizeof line, ps) != nullptr) all += line;
  pclose(ps);
  return all;
}

TEST(PrivateStoreTest, OtherProcessesFindItAndNobodySeesItsPassword) {
  REQUIRE_REDIS_SERVER();
  PrivateStoreOptions options = ServerOptions();
  options.password = "s3cret-of-the-run";
  PrivateStore store(options);
  NewRedisStore(store.redis(), "run")->Set("key", "1");
  const RedisOptions found = FindPrivateStore(options, milliseconds(5000));
  EXPECT_EQ(NewRedisStore(found, "run")->Get("key"), "1");
  EXPECT_EQ(found.port, options.url.port);
  EXPECT_EQ(CommandLines().find(options.password), std::string::npos);
}

TEST(PrivateStoreTest, ShardsMayComeBeforeIt) {
  REQUIRE_REDIS_SERVER();
  const PrivateStoreOptions options = ServerOptions();
  std::string found;
  std::thread early([&] { found = FindPrivateStore(options, milliseconds(20000)).password; });
  SleepMs(500);
  PrivateStore store(options);
  early.join();
  EXPECT_EQ(found, "run");
}

TEST(PrivateStoreTest, ItsPasswordIsNeeded) {
  REQUIRE_REDIS_SERVER();
  PrivateStoreOptions options = ServerOptions();
  options.password = "right";
  const PrivateStore store(options);
  RedisOptions redis = store.redis();
  redis.password.clear();
  EXPECT_HAS(ErrorOf([&] { NewRedisStore(redis, "run")->TryGet("store"); }), "NOAUTH");
  options.password = "wrong";
  const std::string error = ErrorOf([&] { FindPrivateStore(options, milliseconds(3000)); });
  EXPECT_HAS(error, "WRONGPASS");
  EXPECT_HAS(error, "no store at tcp://127.0.0.1");
  EXPECT_EQ(error.find("wrong "), error.find("wrong [")) << error;
  for (const char* password : {"a b", "a\"b", "a\nb", "a\\b", "\xc3\xa4"}) {
    options.password = password;
    EXPECT_THROW(FindPrivateStore(options, milliseconds(1)), UsageError) << password;
  }
}

// Whoever guesses the password can still not use the server to write files or run code.
TEST(PrivateStoreTest, DangerousCommandsAreRefused) {
  REQUIRE_REDIS_SERVER();
  const PrivateStore store(ServerOptions());
  const std::string client =
      MakeString("redis-cli --no-auth-warning -p ", store.redis().port, " -a run ");
  auto answer = [&](const std::string& command) {
    FILE* pipe = popen((client + command + " 2>&1").c_str(), "r");
    char text[4096] = "";
    const size_t length = fread(text, 1, sizeof text - 1, pipe);
    pclose(pipe);
    return std::string(text, length);
  };
  if (answer("ping") != "PONG\n") GTEST_SKIP() << "redis-cli is not installed";
  for (const char* command : {"config set dir /tmp", "eval 'return 1' 0", "flushall",
                              "shutdown nosave", "save", "slaveof 127.0.0.1 1", "module list",
                              "acl list", "client kill a", "migrate 127.0.0.1 1 k 0 1"}) {
    EXPECT_HAS(answer(command), "NOPERM") << command;
  }
  EXPECT_HAS(answer("--scan"), "run/store");
  EXPECT_HAS(answer("info server"), "redis_version");
}

TEST(PrivateStoreTest, TheNextPortServesWhereOneIsTaken) {
  REQUIRE_REDIS_SERVER();
  const PrivateStoreOptions options = ServerOptions(3);
  PrivateStoreOptions stranger = options;
  stranger.run_id = "stranger";
  stranger.url.num_ports = 1;
  const PrivateStore other(stranger);
  const PrivateStore store(options);
  EXPECT_GT(store.redis().port, other.redis().port);
  EXPECT_EQ(FindPrivateStore(options, milliseconds(10000)).port, store.redis().port);
  PrivateStoreOptions third = options;
  third.run_id = "third";
  third.url.num_ports = 1;
  EXPECT_HAS(ErrorOf([&] { PrivateStore{third}; }), "in use by other programs");
}

TEST(PrivateStoreTest, ALiveKeeperOfTheRunIsNamed) {
  REQUIRE_REDIS_SERVER();
  const PrivateStoreOptions options = ServerOptions(3);
  const PrivateStore store(options);
  EXPECT_THROW(PrivateStore{options}, RunConflict);
  EXPECT_HAS(ErrorOf([&] { PrivateStore{options}; }), MakeString("pid ", getpid()));
}

TEST(PrivateStoreTest, WrongAddressesAreNamed) {
  PrivateStoreOptions options = ServerOptions();
  options.url.host = "192.0.2.1";  // reserved for documentation
  EXPECT_HAS(ErrorOf([&] { PrivateStore{options}; }), "192.0.2.1 is not an address of this host");
  options.url.host = "nowhere.invalid";
  EXPECT_HAS(ErrorOf([&] { PrivateStore{options}; }), "nowhere.invalid cannot be resolved");
  EXPECT_HAS(ErrorOf([&] { FindPrivateStore(options, milliseconds(300)); }),
             "nowhere.invalid cannot be resolved");
  options = ServerOptions();
  EXPECT_HAS(ErrorOf([&] { FindPrivateStore(options, milliseconds(300)); }),
             "does shard 0 run on 127.0.0.1?");
}

// Kubernetes resolves "job-0.job" some time after pod job-0 has started.
TEST(PrivateStoreTest, ItsHostNameNeedNotBeResolvedYetOnThatHost) {
  REQUIRE_REDIS_SERVER();
  PrivateStoreOptions options = ServerOptions();
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  options.url.host = std::string(name) + ".nowhere.invalid";
  const PrivateStore store(options);
  EXPECT_EQ(store.redis().host, RoutedAddress());
  options.url.host = std::string(name) + "2.nowhere.invalid";
  EXPECT_THROW(PrivateStore{options}, IoError);
}

TEST(PrivateStoreTest, AMissingServerProgramIsNamed) {
  const std::string path = getenv("PATH");
  const TemporaryDirectory empty;
  setenv("PATH", empty.path().c_str(), 1);
  const std::string error = ErrorOf([] { PrivateStore{ServerOptions()}; });
  setenv("PATH", path.c_str(), 1);
  EXPECT_HAS(error, "neither redis-server nor valkey-server is in PATH");
}

// The parent is killed, or its whole group gets a signal: the server dies with the former and
// survives the latter.
TEST(PrivateStoreTest, TheServerLivesAsLongAsItsKeeper) {
  REQUIRE_REDIS_SERVER();
  const PrivateStoreOptions options = ServerOptions();
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    const pid_t keeper = fork();
    if (keeper == 0) {
      setpgid(0, 0);
      if (signal != SIGKILL) ::signal(signal, SIG_IGN);
      const PrivateStore store(options);
      SleepMs(60000);
      _exit(0);
    }
    FindPrivateStore(options, milliseconds(20000));
    kill(-keeper, signal);
    SleepMs(300);
    if (signal != SIGKILL) {
      EXPECT_TRUE(AcceptsConnections("127.0.0.1", options.url.port, milliseconds(1000))) << signal;
      kill(keeper, SIGKILL);
    }
    waitpid(keeper, nullptr, 0);
    const auto start = std::chrono::steady_clock::now();
    while (AcceptsConnections("127.0.0.1", options.url.port, milliseconds(1000)) &&
           SecondsSince(start) < 10) {
      SleepMs(10);
    }
    EXPECT_FALSE(AcceptsConnections("127.0.0.1", options.url.port, milliseconds(1000))) << signal;
  }
}

RunOptions MemberOf(const PrivateStoreOptions& store, int shard) {
  RunOptions run;
  run.run_id = store.run_id;
  run.num_shards = store.num_shards;
  run.shard_id = shard;
  run.join_timeout = milliseconds(20000);
  return run;
}

// Shard 0 keeps the store and ends its part first.
std::vector<ShardResult> RunTwo(const PrivateStoreOptions& options, bool fails) {
  return RunShards(2, [&](int shard) -> std::string {
    std::unique_ptr<PrivateStore> store;
    if (shard == 0) store = std::make_unique<PrivateStore>(options);
    const RedisOptions redis =
        shard == 0 ? store->redis() : FindPrivateStore(options, milliseconds(20000));
    auto run = RunMembership::Join(RedisStores(redis), MemberOf(options, shard));
    std::string line = "left";
    if (shard == 0 && fails) {
      line = run->ReportFailure("a fault of its own", false);
    } else if (fails) {
      while (run->Failure().empty()) SleepMs(10);
      line = run->ReportFailure("peers are gone", true, 0);
    } else {
      if (shard == 1) SleepMs(1000);
      run->Leave();
    }
    return line;
  });
}

TEST(PrivateStoreTest, ItOutlivesTheShardThatKeepsIt) {
  REQUIRE_REDIS_SERVER();
  for (const ShardResult& result : RunTwo(ServerOptions(), false))
    EXPECT_EQ(result.message, "left");
  const auto failed = RunTwo(ServerOptions(), true);
  EXPECT_HAS(failed[0].message, "a fault of its own");
  EXPECT_EQ(failed[0].message, failed[1].message);
  EXPECT_LT(failed[0].seconds, 8);
}

// The last shard removes its record before the other keys of the run.
TEST(PrivateStoreTest, ItServesUntilTheLastKeyOfACleanRunIsRemoved) {
  REQUIRE_REDIS_SERVER();
  auto store = std::make_unique<PrivateStore>(ServerOptions());
  const RedisOptions redis = store->redis();
  const auto shard = NewRedisStore(redis, "run");
  shard->Set("generation", "1");
  shard->Set("1/leaving", "1");
  std::thread end([&] { store.reset(); });
  SleepMs(1000);
  EXPECT_TRUE(AcceptsConnections(redis.host, redis.port, milliseconds(5000)));
  shard->Remove("generation");
  shard->Remove("1/leaving");
  end.join();
  EXPECT_FALSE(AcceptsConnections(redis.host, redis.port, milliseconds(1000)));
}

TEST(PrivateStoreTest, ShardsWithoutANumberGetOne) {
  REQUIRE_REDIS_SERVER();
  const PrivateStore store(ServerOptions());
  EXPECT_EQ(ClaimNumber(RedisStores(store.redis()), "run", "shards", 2), 0);
  EXPECT_EQ(ClaimNumber(RedisStores(store.redis()), "run", "shards", 2), 1);
  EXPECT_EQ(ClaimNumber(RedisStores(store.redis()), "run", "servers", 1), 0);
  EXPECT_HAS(ErrorOf([&] { ClaimNumber(RedisStores(store.redis()), "run", "shards", 2); }),
             "this is process 3, but the run has 2 shards");
}

// A process that keeps the store, and two shards that leave, or fail, after `ms`.
std::vector<ShardResult> RunWithKeeper(int ms, bool fails) {
  const PrivateStoreOptions options = ServerOptions();
  return RunShards(3, [&](int process) -> std::string {
    if (process == 2) {
      PrivateStore store(options);
      store.WaitForRun(milliseconds(20000));
      return "ended";
    }
    const RedisOptions redis = FindPrivateStore(options, milliseconds(20000));
    RunOptions member = MemberOf(options, process);
    member.on_end = [&](const std::string& failure) {
      AnnounceEnd(RedisStores(redis), "run", failure);
    };
    auto run = RunMembership::Join(RedisStores(redis), member);
    SleepMs(ms);
    if (fails) return run->ReportFailure("a fault", false);
    run->Leave();
    return "left";
  });
}

TEST(PrivateStoreTest, AKeeperWithoutAPartInTheRunEndsWithIt) {
  REQUIRE_REDIS_SERVER();
  for (const int ms : {0, 1000}) {
    const auto results = RunWithKeeper(ms, false);
    EXPECT_EQ(results[0].message, "left");
    EXPECT_EQ(results[2].message, "ended");
    EXPECT_EQ(results[2].status, 0);
  }
  for (const int ms : {0, 1000}) {
    const auto failed = RunWithKeeper(ms, true);
    EXPECT_EQ(failed[2].status, 1);
    EXPECT_HAS(failed[0].message, "a fault");
    EXPECT_HAS(failed[2].message, failed[0].message);
  }
  EXPECT_HAS(ErrorOf([] { PrivateStore(ServerOptions()).WaitForRun(milliseconds(300)); }),
             "no shard joined within 0.3 s");
}

}  // namespace
}  // namespace caffe2::testing

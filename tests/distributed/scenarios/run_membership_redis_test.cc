// Runs whose Redis server stops, starts late, restarts or lies.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <string_view>
#include <thread>

#include "distributed/collective.h"
#include "distributed/gloo_communicator.h"
#include "distributed/run_membership.h"
#include "tests/distributed/run_membership_test_util.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

TEST(RunMembershipRedisTest, RunOutlivesItsStoreAndPublishesAnew) {
  auto redis = std::make_unique<PrivateRedis>();
  REQUIRE_REDIS(*redis);
  RedisOptions redis_options = redis->options();
  redis_options.command_timeout = milliseconds(300);
  const StoreFactory stores = RedisStores(redis_options);
  std::atomic<bool> over{false};
  std::thread shards([&] {
    RunThreads(2, [&](int shard) {
      auto run = RunMembership::Join(stores, Options(2, shard));
      while (!over) {
        EXPECT_EQ(run->Failure(), "");
        SleepMs(20);
      }
      run->Leave();
    });
  });
  SleepMs(500);
  redis.reset();  // the server and all its keys
  SleepMs(700);
  redis = std::make_unique<PrivateRedis>(std::vector<std::string>(), redis_options.port);
  SleepMs(1500);
  EXPECT_TRUE(stores("run")->Check({"1/member/0", "1/member/1", "1/config", "generation"}));
  over = true;
  shards.join();
  EXPECT_FALSE(stores("run")->Check({"generation"}));
}

// The store dies, a moment later a shard. One of the survivors notices it late, because it
// computes.
class StoreDiesFirstTest : public ::testing::TestWithParam<int> {};

TEST_P(StoreDiesFirstTest, AllSurvivorsNameTheSameShard) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  constexpr int kShards = 4, kLost = 2;
  const StoreFactory stores = RedisStores(redis.options());
  const auto results = RunShards(
      kShards,
      [&](int shard) -> std::string {
        const auto run = RunMembership::Join(stores, Options(kShards, shard));
        run->OnPeerLost([](const std::string& line) { AbortCommunicators(line); });
        const auto store = run->MakeStore();
        const auto world =
            ConnectGloo(store.get(), {.rank = shard, .size = kShards, .interface = "127.0.0.1"});
        try {
          for (int i = 0;; ++i) {
            float x = 1;
            world->Allreduce("x", &x, 1, TypeMeta::Make<float>());
            SleepMs(shard == 3 ? 1000 : 10);
          }
        } catch (const std::exception& error) {
          return run->ReportFailure(error.what(), IsPeerError(error), SuspectOf(error));
        }
      },
      40,
      [&](const std::vector<pid_t>& pids) {
        SleepMs(3000);
        redis.Signal(SIGKILL);
        SleepMs(GetParam());
        kill(pids[kLost], SIGKILL);
      });
  for (const int shard : {0, 1, 3}) {
    EXPECT_EQ(results[shard].status, 0);
    EXPECT_EQ(results[shard].message, results[0].message);
  }
  EXPECT_HAS(results[0].message, "peer lost: shard=2 ");
  EXPECT_HAS(results[0].message, "store is unreachable");
}

INSTANTIATE_TEST_SUITE_P(Milliseconds, StoreDiesFirstTest, ::testing::Values(0, 300, 1500));

// The store stops, a shard dies, and the store comes back between the decisions of the survivors:
// shard 3 is frozen until shards 0 and 1 have decided.
TEST(RunMembershipRedisTest, SurvivorsThatDecideBeforeAndAfterAPauseNameTheShardAlike) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  constexpr int kShards = 4, kLost = 2, kLate = 3;
  const StoreFactory stores = RedisStores(redis.options());
  const TemporaryDirectory decided;
  const auto results = RunShards(
      kShards,
      [&](int shard) -> std::string {
        RunOptions options = Options(kShards, shard);
        options.lease = milliseconds(12000);  // shard 3 must not stand still for longer
        const auto run = RunMembership::Join(stores, options);
        std::atomic<bool> lost{false};
        run->OnPeerLost([&](const std::string&) {
          std::ofstream(MakeString(decided.path(), "/", shard)) << "decided";
          lost = true;
        });
        while (!lost && (shard != kLate || decided.Files().size() < 2)) SleepMs(10);
        return run->ReportFailure("it was told so", true, kLost);
      },
      60,
      [&](const std::vector<pid_t>& pids) {
        stores("run")->Wait({"1/ready"});
        SleepMs(500);
        kill(pids[kLate], SIGSTOP);
        redis.Signal(SIGSTOP);
        kill(pids[kLost], SIGKILL);
        const Deadline limit(milliseconds(40000));
        while (decided.Files().size() < 2 && !limit.expired()) SleepMs(10);
        EXPECT_EQ(decided.Files().size(), 2);
        redis.Signal(SIGCONT);
        kill(pids[kLate], SIGCONT);
      });
  for (const int shard : {0, 1, kLate}) {
    EXPECT_EQ(results[shard].status, 0);
    EXPECT_EQ(results[shard].message, results[0].message);
  }
  EXPECT_HAS(results[0].message, "peer lost: shard=2 ");
}

// Shard 0 still writes the last model when the key "left" of shard 1 has expired.
TEST(RunMembershipRedisTest, AShardThatLeftLongAgoIsNotLost) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  const StoreFactory stores = RedisStores(redis.options());
  const auto results = RunShards(2, [&](int shard) {
    RunOptions options = Options(2, shard);
    options.lease = milliseconds(1000);  // the key lasts for six leases
    options.exit_timeout = milliseconds(500);
    const auto run = RunMembership::Join(stores, options);
    if (shard == 0) SleepMs(9000);
    return run->Leave();
  });
  for (const ShardResult& result : results) {
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.message, "");
  }
}

// The store dies, then shard 1 leaves while shard 0 still writes the last model.
TEST(RunMembershipRedisTest, AShardThatLeavesWithoutTheStoreIsNotLostToOneThatSaves) {
  for (const std::string_view knowledge : {"none", "others are done", "it saves"}) {
    auto redis = std::make_unique<PrivateRedis>();
    REQUIRE_REDIS(*redis);
    RedisOptions redis_options = redis->options();
    redis_options.command_timeout = milliseconds(300);
    const StoreFactory stores = RedisStores(redis_options);
    const auto results = RunShards(
        2,
        [&](int shard) {
          const auto run = RunMembership::Join(stores, Options(2, shard));
          if (shard == 0 && knowledge == "others are done") run->NoteOthersDone();
          ShardStatus status;
          if (knowledge == "it saves") status.state = "saving";
          if (shard == 0) run->UpdateStatus(status);
          SleepMs(shard == 0 ? 9000 : 2500);
          const std::string failure = run->Failure();
          run->Leave();
          return failure;
        },
        30,
        [&](const std::vector<pid_t>&) {
          SleepMs(1500);
          redis->Signal(SIGKILL);
        });
    for (const ShardResult& result : results) EXPECT_EQ(result.status, 0);
    EXPECT_EQ(results[1].message, "");
    if (knowledge == "none") {
      EXPECT_HAS(results[0].message, "shard=1 ");
    } else {
      EXPECT_EQ(results[0].message, "");
    }
  }
}

// Shard 1 is killed while shard 0 saves and the store stands still. Both go on afterwards.
TEST(RunMembershipRedisTest, AShardThatDiesDuringASaveIsLostOnceTheStoreIsBack) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  RedisOptions redis_options = redis.options();
  redis_options.command_timeout = milliseconds(300);
  const StoreFactory stores = RedisStores(redis_options);
  const auto results = RunShards(
      2,
      [&](int shard) {
        const auto run = RunMembership::Join(stores, Options(2, shard));
        ShardStatus status;
        status.state = "saving";
        run->UpdateStatus(status);
        SleepMs(7000);
        status.state = "training";
        run->UpdateStatus(status);
        const Deadline limit(milliseconds(20000));
        while (run->Failure().empty() && !limit.expired()) SleepMs(10);
        return run->Failure();
      },
      40,
      [&](const std::vector<pid_t>& pids) {
        SleepMs(1500);
        redis.Signal(SIGSTOP);
        SleepMs(1500);
        kill(pids[1], SIGKILL);
        SleepMs(2000);
        redis.Signal(SIGCONT);
      });
  EXPECT_EQ(results[0].status, 0);
  EXPECT_HAS(results[0].message, "peer lost: shard=1 ");
}

// Shard 0, which the run can lose, is stopped while the store stands still. Shard 2 is told of it
// without the store, and writes it down once the store is back.
TEST(RunMembershipRedisTest, AnExpendableShardThatIsStoppedWithoutTheStoreIsLost) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  RedisOptions redis_options = redis.options();
  redis_options.command_timeout = milliseconds(300);
  const StoreFactory stores = RedisStores(redis_options);
  const auto wait_for_note = [&] {
    for (const Deadline limit(milliseconds(30000)); !limit.expired(); SleepMs(50)) {
      try {
        if (stores("run")->Check({"1/lost/0"})) return true;
      } catch (const IoError&) {
      }
    }
    return false;
  };
  const auto results = RunShards(
      3,
      [&](int shard) {
        RunOptions options = Options(3, shard);
        options.num_expendable = 2;
        std::string lost;
        options.on_expendable_lost = [&](int which, const std::string& line) {
          lost += MakeString(which, ": ", line);
        };
        const auto run = RunMembership::Join(stores, options);
        if (shard == 0) {
          SleepMs(9000);
          return run->ReportFailure("Broadcast failed", true, 2);
        }
        if (!wait_for_note()) return std::string("nobody wrote it down");
        run->Leave();
        return lost + run->Failure();
      },
      60,
      [&](const std::vector<pid_t>& pids) {
        SleepMs(1500);
        redis.Signal(SIGSTOP);
        kill(pids[0], SIGSTOP);
        SleepMs(8000);
        redis.Signal(SIGCONT);
        SleepMs(1000);
        kill(pids[0], SIGCONT);
      });
  EXPECT_HAS(results[0].message, "peer lost: shard=0 ");
  EXPECT_EQ(results[1].message, "");
  EXPECT_HAS(results[2].message, "0: peer lost: shard=0 ");
  EXPECT_HAS(results[2].message, "its process is stopped (the store is unreachable, too)");
  EXPECT_FALSE(stores("run")->Check({"generation"}));
}

// Joins two shards, the second one late, after `disturb` has done something to the server.
void JoinDespite(const std::function<void(std::unique_ptr<PrivateRedis>*)>& disturb) {
  auto redis = std::make_unique<PrivateRedis>();
  REQUIRE_REDIS(*redis);
  RedisOptions redis_options = redis->options();
  redis_options.command_timeout = milliseconds(200);
  const StoreFactory stores = RedisStores(redis_options);
  std::atomic<bool> disturbed{false};
  std::thread shards([&] {
    RunThreads(2, [&](int shard) {
      while (shard == 1 && !disturbed) SleepMs(10);
      auto run = RunMembership::Join(stores, Options(2, shard));
      EXPECT_EQ(run->generation(), 1);
      run->Leave();
    });
  });
  stores("run")->Wait({"1/member/0", "1/heartbeat/0"});
  disturb(&redis);
  disturbed = true;
  shards.join();
  EXPECT_FALSE(stores("run")->Check({"generation"}));
}

TEST(RunMembershipRedisTest, ShardsJoinAlthoughTheServerStopsForAWhile) {
  JoinDespite([](std::unique_ptr<PrivateRedis>* redis) {
    (*redis)->Signal(SIGSTOP);
    SleepMs(1500);
    (*redis)->Signal(SIGCONT);
  });
}

TEST(RunMembershipRedisTest, ShardsJoinAlthoughTheServerIsRestartedEmpty) {
  JoinDespite([](std::unique_ptr<PrivateRedis>* redis) {
    const int port = (*redis)->options().port;
    redis->reset();
    SleepMs(700);
    *redis = std::make_unique<PrivateRedis>(std::vector<std::string>(), port);
  });
}

TEST(RunMembershipRedisTest, AServerThatStopsForGoodEndsJoiningAtItsDeadline) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  RedisOptions redis_options = redis.options();
  redis_options.command_timeout = milliseconds(200);
  const StoreFactory stores = RedisStores(redis_options);
  std::thread stopper([&] {
    stores("run")->Wait({"1/member/0"});
    redis.Signal(SIGSTOP);
  });
  RunOptions options = Options(2, 0);
  options.join_timeout = milliseconds(2000);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_HAS(ErrorOf([&] { RunMembership::Join(stores, options); }), "in time");
  EXPECT_GE(SecondsSince(start), 1.8);
  EXPECT_LT(SecondsSince(start), 2 + kSlackSeconds);
  stopper.join();
}

TEST(RunMembershipRedisTest, ShardsJoinAServerThatStartsAfterThem) {
  const int port = FreePort();
  RedisOptions redis_options;
  redis_options.port = port;
  redis_options.connect_timeout = milliseconds(200);
  const StoreFactory stores = RedisStores(redis_options);
  std::thread shards([&] {
    RunThreads(2, [&](int shard) { RunMembership::Join(stores, Options(2, shard))->Leave(); });
  });
  SleepMs(1500);  // longer than connect_timeout
  PrivateRedis redis({}, port);
  shards.join();
  EXPECT_TRUE(redis.started());
}

TEST(RunMembershipRedisTest, AnAbsentServerEndsJoiningAtItsDeadline) {
  RedisOptions redis_options;
  redis_options.port = FreePort();
  redis_options.connect_timeout = milliseconds(200);
  RunOptions options = Options(2, 0);
  options.join_timeout = milliseconds(1000);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(RunMembership::Join(RedisStores(redis_options), options), StoreUnreachable);
  EXPECT_GE(SecondsSince(start), 0.9);
  EXPECT_LT(SecondsSince(start), 1 + kSlackSeconds);
  int calls = 0;
  options.join_timeout = milliseconds(60000);
  options.while_waiting = [&] {
    if (++calls == 3) throw EnforceNotMet("stopped");
  };
  EXPECT_HAS(ErrorOf([&] { RunMembership::Join(RedisStores(redis_options), options); }), "stopped");
}

// For longer than a lease: nobody could renew a heartbeat or see one.
TEST(RunMembershipRedisTest, APauseOfTheServerKillsNobody) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  const StoreFactory stores = RedisStores(redis.options());
  std::atomic<bool> over{false};
  std::thread shards([&] {
    RunThreads(3, [&](int shard) {
      RunOptions options = Options(3, shard);
      options.lease = milliseconds(1000);
      auto run = RunMembership::Join(stores, options);
      while (!over) {
        EXPECT_EQ(run->Failure(), "");
        if (!run->Failure().empty()) break;
        SleepMs(20);
      }
      run->Leave();
    });
  });
  stores("run")->Wait({"1/ready"});
  SleepMs(500);
  redis.Signal(SIGSTOP);
  SleepMs(3000);
  redis.Signal(SIGCONT);
  SleepMs(2500);
  over = true;
  shards.join();
}

TEST(RunMembershipRedisTest, AForgedGenerationCostsNoTime) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  const StoreFactory stores = RedisStores(redis.options());
  const auto start = std::chrono::steady_clock::now();
  for (const char* generation : {"300000000", "99999999999999999999", "-5", "x", ""}) {
    stores("run")->Put("generation", generation);
    RunMembership::Join(stores, Options(1, 0))->Leave();
  }
  EXPECT_LT(SecondsSince(start), 10);
}

// What a shard has published for its common worlds comes back, too.
TEST(RunMembershipRedisTest, KeysOfTheRunSurviveARestartOfTheServer) {
  auto redis = std::make_unique<PrivateRedis>();
  REQUIRE_REDIS(*redis);
  const RedisOptions redis_options = redis->options();
  const StoreFactory stores = RedisStores(redis_options);
  auto run = RunMembership::Join(stores, Options(1, 0));
  run->MakeStore()->Set("world/0", "address");
  redis.reset();
  redis = std::make_unique<PrivateRedis>(std::vector<std::string>(), redis_options.port);
  EXPECT_EQ(stores("run")->Get("1/world/0"), "address");
  run->Leave();
  EXPECT_FALSE(stores("run")->Check({"1/world/0"}));
}

}  // namespace
}  // namespace caffe2::testing

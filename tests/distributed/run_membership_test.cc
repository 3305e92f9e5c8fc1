#include "distributed/run_membership.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "caffe2/utils/version.h"
#include "distributed/collective.h"
#include "distributed/file_store_handler.h"
#include "distributed/memory_store_handler.h"
#include "distributed/run_record.h"
#include "tests/distributed/run_membership_fixture.h"
#include "tests/distributed/run_membership_test_util.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// A wrong clock of one host blocks a run_id for nobody.
TEST(RunMembershipClockTest, AConflictFromTheFutureIsIgnored) {
  const StoreFactory stores = MemoryStores();
  for (const int64_t seconds : {-86400, 86400}) {
    RunFailure conflict{RunFailure::kConflict, NowMs() + seconds * 1000, "the shards disagree"};
    stores("run")->Put("1/failure", conflict.Format());
    auto run = RunMembership::Join(stores, Options(1, 0));
    EXPECT_EQ(run->generation(), 2);
    run->Leave();
  }
  RunFailure conflict{RunFailure::kConflict, NowMs(), "the shards disagree"};
  stores("run")->Put("1/failure", conflict.Format());
  EXPECT_HAS(ErrorOf([&] { RunMembership::Join(stores, Options(1, 0)); }), "the shards disagree");
}

// A store that answers anything, such as a failure for each generation, keeps no shard joining.
TEST(RunMembershipClockTest, GenerationsWithoutEndAreRefused) {
  const StoreFactory stores = MemoryStores();
  const std::string failure = RunFailure{RunFailure::kLost, NowMs() - 86400000, "lost"}.Format();
  for (int i = 1; i <= 1002; ++i) stores("run")->Put(MakeString(i, "/failure"), failure);
  EXPECT_HAS(ErrorOf([&] { RunMembership::Join(stores, Options(1, 0)); }),
             "run run: more than 1000 generations after 1 have failed, says the store");
}

TEST_P(RunMembershipTest, JoinsAndLeavesWithoutATraceAgainAndAgain) {
  for (int round = 0; round < 3; ++round) {
    const auto results = RunMembers(3, [](RunMembership* run) {
      auto store = run->MakeStore();
      store->Set(MakeString("world/", getpid()), "x");
      ShardStatus status;
      status.state = "training";
      run->UpdateStatus(status);
      return MakeString(run->generation(), run->Failure());
    });
    for (const ShardResult& result : results) {
      EXPECT_EQ(result.status, 0);
      EXPECT_EQ(result.message, "1");
      EXPECT_LT(result.seconds, 1 + kSlackSeconds);
    }
    ExpectNoKeys();
  }
}

// With a minute between two heartbeats, only a change that wakes the thread can be seen.
TEST_P(RunMembershipTest, AChangeOfStateIsPublishedBeforeTheNextHeartbeat) {
  const auto results = RunMembers(
      1,
      [&](RunMembership* run) {
        const auto browser =
            redis_ ? NewRedisBrowser(redis_->options()) : NewFileBrowser(directory_.path());
        std::string seen;
        const auto publish = [&](const ShardStatus& status, const std::string& field,
                                 const std::string& value) {
          run->UpdateStatus(status);
          const Deadline limit(milliseconds(4000));
          std::string found;
          while (found != value && !limit.expired()) {
            SleepMs(10);
            found = browser->Fields("run", "status/0")[field];
          }
          seen += found + " ";
        };
        ShardStatus status;
        status.state = "training";
        publish(status, "state", "training");
        status.iteration = 1;
        publish(status, "iteration", "1");
        status.epoch = 1;
        publish(status, "epoch", "1");
        return seen;
      },
      [](RunOptions* options) {
        options->heartbeat = milliseconds(60000);
        options->lease = milliseconds(240000);
      });
  EXPECT_EQ(results[0].message, "training 1 1 ");
  EXPECT_EQ(results[0].status, 0);
}

// As of a Python program that tests after each iteration.
TEST_P(RunMembershipTest, HeartbeatsGoOnWhileTheStateChangesWithoutEnd) {
  const auto results = RunMembers(1, [&](RunMembership* run) {
    const auto store = stores_("run");
    const auto beats = [&] {
      return std::stoll(ParseRecord(store->Get("1/heartbeat/0")).value().at("beat"));
    };
    const int64_t before = beats();
    const Deadline limit(milliseconds(10000));
    ShardStatus status;
    while (beats() < before + 3 && !limit.expired()) {
      status.state = status.state == "training" ? "testing" : "training";
      run->UpdateStatus(status);
      SleepMs(1);
    }
    return std::string(beats() < before + 3 ? "no heartbeat" : "");
  });
  EXPECT_EQ(results[0].message, "");
  EXPECT_EQ(results[0].status, 0);
}

TEST_P(RunMembershipTest, KilledRunIsTakenOverAtOnce) {
  for (const char* generation : {"1", "2", "3"}) {
    const bool last = generation[0] == '3';
    const auto results = RunMembers(2, [&](RunMembership* run) {
      if (!last) {
        NoteThatAllHaveJoined(run, true);
        raise(SIGKILL);
      }
      return std::to_string(run->generation());
    });
    for (const ShardResult& result : results) {
      EXPECT_EQ(result.status, last ? 0 : 137) << result.message;
      EXPECT_LT(result.seconds, 1 + kSlackSeconds);
      EXPECT_EQ(result.message, last ? generation : "");
    }
  }
  ExpectNoKeys();
}

TEST_P(RunMembershipTest, GenerationsHaveTheTokenOfTheirRunAndTheNextRunHasAnother) {
  const TemporaryDirectory tokens;
  const auto run_once = [&](bool dies) {
    const std::string path = tokens.path() + "/token";
    RunMembers(2, [&](RunMembership* run) {
      const bool writes = run->options().shard_id == 0;
      if (writes) std::ofstream(path) << run->generation() << " " << run->token();
      NoteThatAllHaveJoined(run, true);  // else the other may begin a generation of its own
      if (dies) raise(SIGKILL);
      return std::string();
    });
    int generation = 0;
    std::string token;
    std::ifstream(path) >> generation >> token;
    return std::make_pair(generation, token);
  };
  const auto first = run_once(true), second = run_once(false), next_run = run_once(false);
  EXPECT_EQ(first.first, 1);
  EXPECT_EQ(second.first, 2);
  EXPECT_EQ(next_run.first, 1);
  EXPECT_EQ(first.second.size(), 16u);
  EXPECT_EQ(second.second, first.second);
  EXPECT_NE(next_run.second, first.second);
}

TEST_P(RunMembershipTest, RunThatDiedWhileJoiningIsTakenOver) {
  RunShards(2, [&](int shard) {
    std::thread killer([] {
      SleepMs(300);
      raise(SIGKILL);
    });
    RunMembership::Join(stores_, Options(3, shard));
    return std::string("joined");
  });
  const auto results = RunMembers(3, [](RunMembership* run) { return std::string("ran"); });
  for (const ShardResult& result : results) EXPECT_EQ(result.message, "ran");
}

// Only shards that the new run does not have had joined.
TEST_P(RunMembershipTest, FewerShardsTakeOverFromMoreThatDiedWhileJoining) {
  RunShards(2, [&](int shard) {
    std::thread killer([] {
      SleepMs(300);
      raise(SIGKILL);
    });
    RunMembership::Join(stores_, Options(3, shard + 1));
    return std::string("joined");
  });
  const auto results = RunMembers(1, [](RunMembership*) { return std::string("ran"); });
  EXPECT_EQ(results[0].message, "ran");
  ExpectNoKeys();
}

TEST_P(RunMembershipTest, FewerShardsLeaveNothingOfMoreThatWereKilled) {
  RunMembers(3, [&](RunMembership* run) {
    run->MakeStore()->Set(MakeString("world/", run->options().shard_id), "x");
    NoteThatAllHaveJoined(run, true);
    raise(SIGKILL);
    return std::string();
  });
  const auto results = RunMembers(2, [](RunMembership* run) {
    run->MakeStore()->Set(MakeString("world/", run->options().shard_id), "x");
    return std::string("ran");
  });
  for (const ShardResult& result : results) EXPECT_EQ(result.message, "ran");
  ExpectNoKeys();
}

TEST_P(RunMembershipTest, LiveRunIsRefusedToOthersAndGoesOn) {
  const auto results = RunShards(3, [&](int shard) {
    if (shard == 2) {  // a whole other run, of one shard
      stores_("run")->Wait({"1/ready"}, milliseconds(20000));
      RunMembership::Join(stores_, Options(1, 0));
      return std::string("joined");
    }
    auto run = RunMembership::Join(stores_, Options(2, shard));
    SleepMs(3000);
    run->ThrowIfFailed();
    run->Leave();
    return std::string("unharmed");
  });
  EXPECT_EQ(results[0].message, "unharmed");
  EXPECT_EQ(results[1].message, "unharmed");
  EXPECT_HAS(results[2].message, "run_id run is in use: shard 0 on host ");
  EXPECT_HAS(results[2].message, ", pid ");
}

TEST_P(RunMembershipTest, SecondShardOfTheSameIdIsRefusedAndTheFirstGroupRuns) {
  const auto results = RunShards(3, [&](int shard) {
    const int ids[] = {0, 0, 1};
    if (shard == 1) stores_("run")->Wait({"1/member/0"});
    if (shard == 2) SleepMs(1500);  // after the one that is refused
    auto run = RunMembership::Join(stores_, Options(2, ids[shard]));
    run->Leave();
    return std::string("ran");
  });
  EXPECT_EQ(results[0].message, "ran");
  EXPECT_HAS(results[1].message, "shard 0 of run run is already held by host ");
  EXPECT_EQ(results[2].message, "ran");
}

TEST_P(RunMembershipTest, DisagreementIsNamedToAllShards) {
  const auto results = RunShards(4, [&](int shard) {
    // What is started after the failure would be a new try.
    auto started = stores_("start");
    started->Put(std::to_string(shard), "1");
    started->Wait({"0", "1", "2", "3"});
    if (shard != 0) stores_("run")->Wait({"1/config"});
    RunMembership::Join(stores_, Options(shard == 2 ? 5 : 4, shard));
    return std::string("joined");
  });
  for (const ShardResult& result : results) {
    EXPECT_EQ(result.status, 1);
    EXPECT_HAS(result.message,
               "the shards of run run disagree: num_shards differs: 4 on shard 0, 5 on shard 2");
    EXPECT_LT(result.seconds, 1 + kSlackSeconds);
  }
  // Tried again with agreement it works.
  SleepMs(200);
  const auto fields = RunMembers(2, [](RunMembership*) { return std::string("ran"); });
  for (const ShardResult& result : fields) EXPECT_EQ(result.message, "ran");
}

TEST_P(RunMembershipTest, ShardStartedAfterADisagreementNamesIt) {
  RunShards(2, [&](int shard) {
    RunMembership::Join(stores_, Options(shard == 1 ? 5 : 4, shard));
    return std::string("joined");
  });
  SleepMs(300);
  for (const bool first : {true, false}) {  // the second one names the first one only
    const auto late = RunShards(1, [&](int) {
      RunOptions options = Options(4, 2);
      options.join_timeout = milliseconds(500);
      RunMembership::Join(stores_, options);
      return std::string("joined");
    });
    EXPECT_HAS(late[0].message, "1 of 4 shards joined within 0.5 s; missing: shards 0, 1, 3");
    const std::string before = first ? "the shards of run run disagree" : "run run: 1 of 4";
    EXPECT_HAS(late[0].message, "; the try before: " + before);
    EXPECT_EQ(late[0].message.find("disagree") != std::string::npos, first);
  }
}

TEST_P(RunMembershipTest, AShardThatCannotTakePartIsNamedToThoseWhoWaitForIt) {
  const auto results = RunShards(3, [&](int shard) {
    auto started = stores_("start");
    started->Put(std::to_string(shard), "1");
    started->Wait({"0", "1", "2"});
    if (shard == 1) {
      stores_("run")->Wait({"1/member/0"});
      RecordRefusal(stores_, "run", shard, "too few files");
      started->Put("refused", "1");
      return std::string("refused");
    }
    if (shard == 2) started->Wait({"refused"});  // it was started before, and joins afterwards
    RunMembership::Join(stores_, Options(3, shard));
    return std::string("joined");
  });
  EXPECT_EQ(results[1].message, "refused");
  for (const int shard : {0, 2}) {
    EXPECT_EQ(results[shard].status, 1);
    EXPECT_HAS(results[shard].message, "run run: shard 1 (host ");
    EXPECT_HAS(results[shard].message, ") cannot take part: too few files");
  }
  // A later try goes on, and a second process of its shard does it no harm.
  SleepMs(200);
  const auto fields = RunMembers(2, [&](RunMembership* run) {
    RecordRefusal(stores_, "run", 1, "too few files");
    return run->Failure();
  });
  for (const ShardResult& result : fields) EXPECT_EQ(result.message, "");
}

// Whoever waits for the shard is told of the refusal until the same process tries again.
TEST_P(RunMembershipTest, AShardThatCouldNotTakePartMayTryAgain) {
  const auto results = RunShards(2, [&](int shard) {
    std::string refusal;
    if (shard == 0) {
      RecordRefusal(stores_, "run", shard, "too few files");
      stores_("steps")->Wait({"told"});
    } else {
      stores_("run")->Wait({"1/failure"});
      refusal = ErrorOf([&] { RunMembership::Join(stores_, Options(2, shard)); });
      stores_("steps")->Put("told", "1");
      stores_("run")->Wait({"2/member/0"});
    }
    RunMembership::Join(stores_, Options(2, shard))->Leave();
    return "joined " + refusal;
  });
  EXPECT_EQ(results[0].message, "joined ");
  EXPECT_HAS(results[1].message, "joined run run: shard 0 (host ");
}

TEST_P(RunMembershipTest, FingerprintsAreCompared) {
  const auto results = RunMembers(
      2, [](RunMembership*) { return std::string("joined"); },
      [](RunOptions* options) {
        if (options->shard_id == 1) SleepMs(1000);
        if (options->shard_id == 1) options->fingerprint["model"] = "resnet50 \n x";
      });
  for (const ShardResult& result : results) {
    EXPECT_HAS(result.message, "model differs: lenet on shard 0, resnet50   x on shard 1");
  }
}

TEST_P(RunMembershipTest, VersionsOfTheProgramAreComparedBeforeTheFingerprint) {
  const auto results = RunMembers(
      2, [](RunMembership*) { return std::string("joined"); },
      [](RunOptions* options) {
        if (options->shard_id == 1) {
          SleepMs(1000);
          options->fingerprint["version"] = "0.0.1";
          options->fingerprint["batch_size"] = "1";
        }
      });
  for (const ShardResult& result : results) {
    EXPECT_HAS(result.message,
               "version differs: " + VersionAndCommit() + " on shard 0, 0.0.1 on shard 1");
  }
}

TEST_P(RunMembershipTest, MissingShardsAreListedAtTheDeadline) {
  const auto results = RunShards(2, [&](int shard) {
    RunOptions options = Options(4, shard * 2);
    options.join_timeout = milliseconds(1000);
    RunMembership::Join(stores_, options);
    return std::string("joined");
  });
  for (const ShardResult& result : results) {
    EXPECT_EQ(result.message, "run run: 2 of 4 shards joined within 1 s; missing: shards 1, 3");
    EXPECT_GE(result.seconds, 1);
    EXPECT_LT(result.seconds, 1 + kSlackSeconds);
  }
}

TEST_P(RunMembershipTest, KilledShardIsBlamedAlikeByAll) {
  const auto results = RunMembers(3, [](RunMembership* run) {
    std::mutex mutex;
    std::string told;
    run->OnPeerLost([&](const std::string& line) {
      std::lock_guard<std::mutex> lock(mutex);
      told = line;
    });
    ShardStatus status;
    status.state = "training";
    status.iteration = 40;
    run->UpdateStatus(status);
    SleepMs(400);
    if (run->DescribeShard(1).find(MakeString("pid ", getpid(), ")")) != std::string::npos) {
      raise(SIGKILL);
    }
    const auto was_told = [&] {
      std::lock_guard<std::mutex> lock(mutex);
      return !told.empty();
    };
    while (!was_told()) SleepMs(10);
    std::lock_guard<std::mutex> lock(mutex);
    const std::string line = run->ReportFailure("Allreduce failed", true, 2);
    return line == told ? line : "told " + told + ", reported " + line;
  });
  EXPECT_EQ(results[1].status, 137);
  EXPECT_EQ(results[0].message, results[2].message);
  EXPECT_HAS(results[0].message, "peer lost: shard=1 host=");
  EXPECT_HAS(results[0].message, "iteration=40 phase=training cause=its process is gone");
  EXPECT_LT(results[0].seconds, 2 + kSlackSeconds);
}

TEST_P(RunMembershipTest, FailureOfOneShardIsKnownToAll) {
  const auto results = RunMembers(3, [](RunMembership* run) {
    if (run->DescribeShard(2).find(MakeString("pid ", getpid(), ")")) != std::string::npos) {
      return run->ReportFailure("loss is\nNaN", false);
    }
    // The others see it as an error of communication with whomever.
    return run->ReportFailure("Allreduce failed", true, 0);
  });
  for (const ShardResult& result : results) {
    EXPECT_HAS(result.message, "peer lost: shard=2 host=");
    EXPECT_HAS(result.message, "cause=loss is NaN");
    EXPECT_EQ(result.message, results[0].message);
  }
}

TEST_P(RunMembershipTest, StoppedShardIsFoundBySilence) {
  const auto results = RunShards(
      3,
      [&](int shard) {
        auto run = RunMembership::Join(stores_, Options(3, shard));
        SleepMs(300);
        if (shard == 1) raise(SIGSTOP);
        return run->ReportFailure("Allreduce timed out", true, 0);
      },
      8);
  EXPECT_EQ(results[0].message, results[2].message);
  EXPECT_HAS(results[0].message, "peer lost: shard=1 ");
}

// Shard 1 is silent for longer than a lease, but not for as long as the run allows.
TEST_P(RunMembershipTest, AShardThatIsFrozenForAWhileGoesOn) {
  const auto results = RunShards(
      3,
      [&](int shard) {
        RunOptions options = Options(3, shard);
        options.lease = milliseconds(800);
        options.silence = milliseconds(15000);
        auto run = RunMembership::Join(stores_, options);
        SleepMs(6000);
        const std::string failure = run->Failure();
        run->Leave();
        return failure;
      },
      20,
      [](const std::vector<pid_t>& pids) {
        SleepMs(1500);
        kill(pids[1], SIGSTOP);
        SleepMs(2500);
        kill(pids[1], SIGCONT);
      });
  for (const ShardResult& result : results) {
    EXPECT_EQ(result.status, 0) << result.message;
    EXPECT_EQ(result.message, "");
  }
}

// A communicator without peers, which only counts operations.
class CountingCommunicator final : public Communicator {
 public:
  CountingCommunicator() : Communicator(0, 1) {}
  std::shared_ptr<Communicator> Clone(const std::string&) override { return nullptr; }
  void SetTimeout(milliseconds) override {}
  void Abort(const std::string&) override {}

 private:
  void DoAllreduce(void*, int64_t, TypeMeta) override {}
  void DoBroadcast(void*, size_t, int) override {}
  void DoAllgather(const void* input, void* output, size_t bytes) override {
    std::memcpy(output, input, bytes);
  }
  void DoReduceScatter(void*, const std::vector<int64_t>&, TypeMeta) override {}
  void DoBarrier() override {}
  void BeginOperation(const std::string&, bool) override {}
};

// The heartbeat of shard 1 goes on, but its main thread hangs: for example, in a read.
TEST_P(RunMembershipTest, AShardThatHangsIsBlamedByItsProgress) {
  const auto results = RunShards(
      4,
      [&](int shard) {
        CountingCommunicator world;
        world.Barrier("before");  // of another run
        auto run = RunMembership::Join(stores_, Options(4, shard));
        for (int i = 0; i < (shard == 1 ? 7 : 8); ++i) world.Barrier(MakeString("step ", i));
        if (shard == 1) {
          while (run->Failure().empty()) SleepMs(20);
          return run->Failure();
        }
        SleepMs(300);
        return run->ReportFailure("Barrier: no answer in time", true, (shard + 1) % 4);
      },
      20);
  for (const ShardResult& result : results) {
    EXPECT_HAS(result.message, "peer lost: shard=1 ");
    EXPECT_HAS(result.message,
               "cause=it does not take part in collective 8 (Barrier step 7); its last one is 7 "
               "(Barrier step 6)");
    EXPECT_EQ(result.message, results[0].message);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, RunMembershipTest, ::testing::Values("file", "redis"),
                         [](const auto& info) { return info.param; });

TEST(RunMembershipOptionsTest, BadOptionsAreRefusedBeforeTheStoreIsTouched) {
  const StoreFactory none = [](const std::string&) -> std::unique_ptr<StoreHandler> {
    throw IoError("touched");
  };
  for (const char* run_id : {"", "a/b", "a b", "a\n", "\xc3\xa4", "a%b"}) {
    RunOptions options = Options(2, 0);
    options.run_id = run_id;
    EXPECT_THROW(RunMembership::Join(none, options), EnforceNotMet) << run_id;
  }
  EXPECT_THROW(RunMembership::Join(none, Options(2, 2)), EnforceNotMet);
  EXPECT_THROW(RunMembership::Join(none, Options(2, -1)), EnforceNotMet);
  EXPECT_THROW(RunMembership::Join(none, Options(0, 0)), EnforceNotMet);
}

// Shard 0 of three, of which the others are made of keys: a slow heartbeat makes nobody look dead.
TEST(RunMembershipBlameTest, TheWatchFollowsTheHeartbeat) {
  const StoreFactory stores = MemoryStores();
  RunOptions options = Options(3, 0);
  options.heartbeat = milliseconds(1800);
  options.lease = milliseconds(8000);
  auto store = stores("run");
  MemberRecord remote;
  remote.process = {"elsewhere", "another-boot", 17, 1};
  remote.joined = NowMs() / 1000;
  std::atomic<bool> stop{false};
  auto beat = [&](int shard, int64_t count) {
    store->Put(MakeString("1/member/", shard), remote.Format());
    store->Put(MakeString("1/heartbeat/", shard), std::to_string(count));
  };
  std::thread hearts([&] {
    for (int64_t i = 0; !stop; ++i, SleepMs(50)) {
      beat(2, i);
      if (i < 10 || i % 50 == 0) beat(1, i);  // every 2.5 s
    }
  });
  auto run = RunMembership::Join(stores, options);
  const std::string beats = store->Get("1/heartbeat/1");
  while (store->Get("1/heartbeat/1") == beats) SleepMs(10);
  EXPECT_HAS(run->ReportFailure("Allreduce failed", true, 2), "peer lost: shard=2 ");
  stop = true;
  hearts.join();
}

TEST(RunMembershipOptionsTest, ALeaseIsLongerThanAFewHeartbeats) {
  RunOptions options = Options(1, 0);
  options.lease = options.heartbeat * 3;
  EXPECT_HAS(ErrorOf([&] { RunMembership::Join(MemoryStores(), options); }),
             "lease (300 ms) must be at least 4 heartbeats");
}

// Of processes on other hosts only the heartbeats tell.
TEST(RunMembershipRemoteTest, RemoteHolderIsJudgedByItsHeartbeat) {
  const StoreFactory stores = MemoryStores();
  auto store = stores("run");
  MemberRecord remote;
  remote.process = {"elsewhere", "another-boot", 17, 1};
  remote.joined = NowMs() / 1000 - 100;
  store->Set("generation", "1");
  store->Set("1/config",
             FormatRecord(
                 {{"num_shards", "1"}, {"shard", "0"}, {"model", "lenet"}, {"batch_size", "64"}}));
  store->Set("1/member/0", remote.Format());
  store->Set("1/ready", "1");
  std::atomic<bool> stop{false};
  std::thread heart([&] {
    for (int i = 0; !stop; ++i, SleepMs(50)) store->Put("1/heartbeat/0", std::to_string(i));
  });
  auto start = std::chrono::steady_clock::now();
  try {
    RunMembership::Join(stores, Options(1, 0));
    ADD_FAILURE();
  } catch (const RunConflict& e) {
    EXPECT_HAS(e.what(), "shard 0 on host elsewhere, pid 17 has held it for 10");
  }
  EXPECT_LT(SecondsSince(start), 0.5 + kSlackSeconds);
  stop = true;
  heart.join();
  start = std::chrono::steady_clock::now();
  auto run = RunMembership::Join(stores, Options(1, 0));
  EXPECT_EQ(run->generation(), 2);
  EXPECT_LT(SecondsSince(start), 4 + kSlackSeconds);
  run->Leave();
}

}  // namespace
}  // namespace caffe2::testing

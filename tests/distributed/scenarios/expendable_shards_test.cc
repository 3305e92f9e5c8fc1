// Shards whose end does not end the run, as the workers of parameter servers.
#include <unistd.h>

#include <atomic>
#include <utility>

#include "distributed/run_record.h"
#include "tests/distributed/run_membership_fixture.h"

namespace caffe2::testing {
namespace {

class ExpendableShardsTest : public RunMembershipTest {};

// Shards 0 and 1 are expendable; shard 2 is told about the one that dies, and no key is left.
TEST_P(ExpendableShardsTest, AnExpendableShardMayDie) {
  const auto results = RunShards(
      3,
      [&](int shard) {
        RunOptions options = Options(3, shard);
        options.num_expendable = 2;
        std::atomic<int> lost{-1};
        options.on_expendable_lost = [&](int which, const std::string&) { lost = which; };
        auto run = RunMembership::Join(stores_, options);
        NoteThatAllHaveJoined(run.get(), shard == 1);
        if (shard == 1) _exit(9);
        while (shard == 2 && lost < 0 && run->Failure().empty()) SleepMs(10);
        const std::string failure = run->Failure();
        run->Leave();
        return MakeString(failure, shard == 2 ? lost.load() : -1);
      },
      20);
  EXPECT_EQ(results[0].message, "-1");
  EXPECT_EQ(results[2].message, "1");
  ExpectNoKeys();
}

TEST_P(ExpendableShardsTest, AnExpendableShardMayFailAndTheOthersCannot) {
  for (const bool needed : {false, true}) {
    const auto results = RunMembers(
        3,
        [&](RunMembership* run) {
          const int id = run->options().shard_id;
          const bool fails = id == (needed ? 2 : 0);
          NoteThatAllHaveJoined(run, fails);
          if (fails) return run->ReportFailure("bad record", false);
          while (needed && run->Failure().empty()) SleepMs(10);
          return run->Failure();
        },
        [](RunOptions* options) { options->num_expendable = 2; });
    for (int shard = 0; shard < 3; ++shard) {
      const std::string& message = results[shard].message;
      if (needed) {
        EXPECT_HAS(message, "peer lost: shard=2 ");
      } else if (shard == 0) {
        EXPECT_HAS(message, "bad record (the other shards go on)");
      } else {
        EXPECT_EQ(message, "");
      }
    }
    ExpectNoKeys();
  }
}

// Shard 0 finds shard 1, fails and leaves, all while shard 1 sleeps between two looks.
TEST_P(ExpendableShardsTest, AnExpendableShardThatFailsBeforeTheOthersLookEndsTheirWait) {
  const auto results = RunShards(
      2,
      [&](int shard) {
        RunOptions options = Options(2, shard);
        options.num_expendable = 1;
        options.join_timeout = std::chrono::seconds(10);
        if (shard == 1) options.while_waiting = [] { SleepMs(1000); };
        if (shard == 0) SleepMs(300);
        return ErrorOf([&] {
          auto run = RunMembership::Join(stores_, options);
          run->ReportFailure("no port", false);
          if (shard == 1) run->Leave();
        });
      },
      20);
  EXPECT_EQ(results[0].message, "no error");
  EXPECT_EQ(
      results[1].message,
      "run run: shard 0 left while the others were joining; the cause is in the output there");
}

// Shard 0, on another host, has joined and is made of keys: another shard found that it lives, and
// set "ready", while its heartbeat has not changed before the eyes of this one.
TEST_P(ExpendableShardsTest, AnExpendableShardWhoseHeartbeatIsNotSeenToChangeHasNotLeft) {
  MemberRecord far;
  far.process = {.host = "far", .boot_id = "another", .pid = 17};
  const auto store = stores_("run");
  bool joined = false;
  int looks = 0;  // each takes 0.1 s or more; looks for those who have left come every second
  RunOptions options = Options(2, 1);
  options.num_expendable = 1;
  options.lease = std::chrono::seconds(20);
  options.while_waiting = [&] {
    if (!std::exchange(joined, true)) {
      store->Put("1/heartbeat/0", "beat=1");
      store->Put("1/member/0", far.Format());
      store->Put("1/ready", "1");
    }
    SleepMs(100);
    if (++looks == 25) store->Put("1/heartbeat/0", "beat=2");
  };
  EXPECT_EQ(ErrorOf([&] {
              const auto run = RunMembership::Join(stores_, options);
              EXPECT_GE(looks, 25);
              run->ReportFailure("the end", false);
            }),
            "no error");
}

INSTANTIATE_TEST_SUITE_P(Stores, ExpendableShardsTest, ::testing::Values("file", "redis"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace caffe2::testing

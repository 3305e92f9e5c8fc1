// Shards that die while others leave the run.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "distributed/file_store_handler.h"
#include "distributed/run_membership.h"
#include "tests/distributed/run_membership_test_util.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

class RunLeaveTest : public ::testing::Test {
 protected:
  // Three shards, of which the last two leave at once. Shard 0 calls `first`. Shard `killed` is
  // killed once both have begun to leave and shard 0 has joined. Returns what Leave() returned to
  // each.
  std::vector<ShardResult> Run(int killed, const std::function<void(StoreHandler*)>& first) {
    return RunShards(
        3,
        [&](int shard) {
          auto run = RunMembership::Join(stores_, Options(3, shard));
          if (shard == 0) {
            const auto store = stores_("run");
            store->Set("test/joined", "");
            first(store.get());
          }
          return run->Leave();
        },
        30,
        [&](const std::vector<pid_t>& pids) {
          const auto store = stores_("run");
          store->Wait({"1/left/1", "1/left/2", "test/joined"}, milliseconds(20000));
          kill(pids[static_cast<size_t>(killed)], SIGKILL);
        });
  }

  TemporaryDirectory directory_;
  StoreFactory stores_ = FileStores(directory_.path());
};

TEST_F(RunLeaveTest, AShardThatDiesBeforeItLeavesIsNamedToThoseThatLeave) {
  const auto results = Run(0, [](StoreHandler*) { SleepMs(20000); });
  EXPECT_EQ(results[0].status, 137);
  EXPECT_HAS(results[1].message, "peer lost: shard=0 ");
  EXPECT_EQ(results[1].message, results[2].message);
}

// Shard 0 leaves when the others have had time to notice the death.
TEST_F(RunLeaveTest, AShardThatDiesWhileItLeavesIsNoFailure) {
  const auto results = Run(1, [](StoreHandler* store) {
    store->Wait({"1/left/1", "1/left/2"}, milliseconds(20000));
    SleepMs(2000);
  });
  EXPECT_EQ(results[1].status, 137);
  for (const int shard : {0, 2}) {
    EXPECT_EQ(results[static_cast<size_t>(shard)].status, 0);
    EXPECT_EQ(results[static_cast<size_t>(shard)].message, "");
  }
}

TEST_F(RunLeaveTest, FiftyRunsLeakNoDescriptorsAndNoThreads) {
  const auto entries = [](const char* folder) {
    const auto all = std::filesystem::directory_iterator(folder);
    return std::distance(begin(all), end(all));
  };
  const auto run_once = [&] {
    RunThreads(3, [&](int shard) {
      const auto run = RunMembership::Join(stores_, Options(3, shard));
      EXPECT_EQ(run->generation(), 1);
      EXPECT_EQ(run->Leave(), "");
    });
  };
  run_once();
  const auto files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  for (int i = 0; i < 50; ++i) run_once();
  // The kernel may list a thread for a moment after it was joined.
  for (int i = 0; i < 100 && entries("/proc/self/task") > threads; ++i) SleepMs(100);
  EXPECT_LE(entries("/proc/self/fd"), files);
  EXPECT_LE(entries("/proc/self/task"), threads);
  EXPECT_TRUE(directory_.Files().empty());
}

}  // namespace
}  // namespace caffe2::testing

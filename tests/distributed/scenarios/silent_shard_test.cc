// How soon a silent shard is known.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "caffe2/utils/waiting_time.h"
#include "distributed/file_store_handler.h"
#include "distributed/prefix_store_handler.h"
#include "tests/distributed/run_membership_test_util.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// Counts how often one thread reads heartbeats.
class ReadCounter {
 public:
  StoreFactory Wrap(StoreFactory stores) {
    return [this, stores = std::move(stores)](const std::string& prefix) {
      return std::make_unique<CountingStore>(stores(prefix), this);
    };
  }
  int reads() const { return reads_; }

 private:
  class CountingStore final : public PrefixStoreHandler {
   public:
    CountingStore(std::unique_ptr<StoreHandler> base, ReadCounter* counter)
        : PrefixStoreHandler(std::move(base), ""), counter_(counter) {}
    std::optional<std::string> TryGet(const std::string& key) override {
      const bool counts = std::this_thread::get_id() == counter_->thread_;
      if (counts && key.find("/heartbeat/") != std::string::npos) ++counter_->reads_;
      return PrefixStoreHandler::TryGet(key);
    }

   private:
    ReadCounter* counter_;
  };

  const std::thread::id thread_ = std::this_thread::get_id();
  int reads_ = 0;
};

// Three shards. Shard 1 is frozen, and the others wait for it in an operation.
TEST(SilentShardTest, ItIsKnownWhenALongOperationFails) {
  const TemporaryDirectory directory;
  const auto results = RunShards(
      3,
      [&](int shard) {
        ReadCounter counter;
        RunOptions options = Options(3, shard);
        options.lease = milliseconds(12000);  // so long that no heartbeat alone finds it
        auto run = RunMembership::Join(counter.Wrap(FileStores(directory.path())), options);
        SleepMs(300);
        if (shard == 1) raise(SIGSTOP);
        {
          const TimedWait wait(WaitFor::kShards);
          SleepMs(7000);
        }
        const int before = counter.reads();
        const std::string line = run->ReportFailure("Allreduce timed out", true, 0);
        // A watch that only begins now reads all heartbeats every 100 ms for two seconds.
        const int reads = counter.reads() - before;
        return MakeString(reads < 30 ? "few" : "many", " reads: ", line);
      },
      12);
  for (const int shard : {0, 2}) {
    EXPECT_HAS(results[shard].message, "few reads: peer lost: shard=1 ");
    EXPECT_EQ(results[shard].message, results[0].message);
  }
}

}  // namespace
}  // namespace caffe2::testing

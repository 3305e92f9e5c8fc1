// Shards that connect to each other while the run ends, or while they are asked to stop.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "distributed/collective.h"
#include "distributed/gloo_communicator.h"
#include "distributed/memory_store_handler.h"
#include "distributed/run_record.h"
#include "distributed/shared_memory.h"
#include "distributed/shared_memory_communicator.h"
#include "tests/distributed/run_membership_test_util.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

constexpr milliseconds kWaitLimit{60000};

CommunicatorOptions Pair(int rank) {
  return {.rank = rank, .size = 2, .interface = "127.0.0.1", .timeout = kWaitLimit};
}

// Shard 0 connects with shard 1, which has joined the run and does not connect.
class ConnectWaitTest : public ::testing::Test {
 protected:
  explicit ConnectWaitTest(milliseconds patience = milliseconds(1000)) {
    RunThreads(2, [&](int shard) {
      RunOptions options = Options(2, shard);
      options.connect_patience = patience;
      runs_[shard] = RunMembership::Join(stores_, options);
    });
    runs_[0]->OnStopWhileBlocked([this] { return asked_.load(); },
                                 [this](const std::string& why) { reason_ = why; });
  }
  ~ConnectWaitTest() override {
    for (const auto& run : runs_) run->ReportFailure("the end of the test", false);
  }

  // Shard 1 tells an address where nobody calls and nobody answers.
  void TellAddress() {
    runs_[1]->MakeStore()->Set(
        "common_world/1", MakeString("host=", ProcessId::Self().host, " pid=17 boot=",
                                     ProcessId::Self().boot_id, " 127.0.0.1|", FreePort(), " 1 -"));
  }
  std::string ErrorOfConnecting() {
    return ErrorOf([&] { ConnectGloo(runs_[0]->MakeStore().get(), Pair(0)); });
  }

  const StoreFactory stores_ = MemoryStores();
  std::unique_ptr<RunMembership> runs_[2];
  std::atomic<bool> asked_{false};
  std::string reason_;
};

TEST_F(ConnectWaitTest, AShardThatIsAskedToStopDoesNotWaitForAnAddress) {
  asked_ = true;
  EXPECT_HAS(ErrorOfConnecting(), "stopped while it waited for common_world/1");
  EXPECT_HAS(reason_, "common_world/1");
}

TEST_F(ConnectWaitTest, AShardThatIsAskedToStopDoesNotWaitForACall) {
  TellAddress();
  asked_ = true;
  EXPECT_HAS(ErrorOfConnecting(), "stopped while it waited for rank 1 (host ");
  EXPECT_HAS(reason_, ", pid 17, 127.0.0.1:");
}

// With so much patience that a loaded machine is quick, too.
class PatientConnectWaitTest : public ConnectWaitTest {
 protected:
  PatientConnectWaitTest() : ConnectWaitTest(kWaitLimit) {}
};

TEST_F(PatientConnectWaitTest, AShardThatIsAskedToStopConnectsIfThatIsQuick) {
  asked_ = true;
  RunThreads(2, [&](int rank) {
    EXPECT_EQ(ConnectGloo(runs_[rank]->MakeStore().get(), Pair(rank))->size(), 2);
  });
  EXPECT_EQ(reason_, "");
}

TEST_F(ConnectWaitTest, TheFailureOfAnotherShardEndsTheWait) {
  TellAddress();
  auto error = std::async(std::launch::async, [&] { return ErrorOfConnecting(); });
  SleepMs(300);
  const std::string line = runs_[1]->ReportFailure("a bad record", false);
  EXPECT_HAS(error.get(), line);
  EXPECT_HAS(line, "shard=1 ");
}

// A shard may connect later than an operation may take. Afterwards the limit of operations holds.
class LateShardTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LateShardTest, IsAwaitedWhileItConnectsOnly) {
  constexpr int kLimitMs = 2000, kLateMs = 4000;
  const StoreFactory stores = MemoryStores();
  std::shared_ptr<Communicator> worlds[2], clones[2];
  RunThreads(2, [&](int rank) {
    CommunicatorOptions options = Pair(rank);
    options.transport = GetParam();
    options.timeout = milliseconds(kLimitMs);
    options.connect_timeout = kWaitLimit;
    if (rank == 1) SleepMs(kLateMs);
    worlds[rank] = ConnectShards(stores("run").get(), options);
    if (rank == 1) SleepMs(kLateMs);
    clones[rank] = worlds[rank]->Clone("clone");
  });
  for (const auto& world : {clones[0], worlds[0]}) {
    ASSERT_NE(world, nullptr);
    EXPECT_HAS(ErrorOf([&] { world->Barrier("barrier"); }),
               MakeString("did not answer within ", kLimitMs, " ms"));
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, LateShardTest, ::testing::Values("tcp", "shared_memory"));

// The time limit of attaching begins when all shards are there.
TEST(SharedMemoryWaitTest, AShardMayAttachLaterThanTheLimitOfConnecting) {
  const StoreFactory stores = MemoryStores();
  RunThreads(2, [&](int rank) {
    const auto control = ConnectGloo(stores("run").get(), Pair(rank));
    if (rank == 1) SleepMs(2500);
    const auto attached =
        SharedMemory::Attach(control.get(), "memory", 4096, milliseconds(2000), "");
    EXPECT_EQ(attached.obstacle, "");
    EXPECT_NE(attached.memory, nullptr);
  });
}

// Passes operations on, and holds up rank 1 after its first gather of values: the other shard then
// waits for a connection.
class StallingCommunicator final : public Communicator {
 public:
  StallingCommunicator(std::shared_ptr<Communicator> inner, std::shared_future<void> go_on)
      : Communicator(inner->rank(), inner->size()),
        inner_(std::move(inner)),
        go_on_(std::move(go_on)) {}
  std::shared_ptr<Communicator> Clone(const std::string&) override { return nullptr; }
  void SetTimeout(milliseconds) override {}
  void Abort(const std::string& reason) override { inner_->Abort(reason); }

 private:
  void DoAllreduce(void*, int64_t, TypeMeta) override {}
  void DoBroadcast(void*, size_t, int) override {}
  void DoAllgather(const void* input, void* output, size_t bytes) override {
    inner_->Allgather(MakeString("of ", bytes), input, output, static_cast<int64_t>(bytes),
                      TypeMeta::Make<uint8_t>());
    if (!comparing_ && rank() == 1) go_on_.wait();
  }
  void DoReduceScatter(void*, const std::vector<int64_t>&, TypeMeta) override {}
  void DoBarrier() override {}
  void BeginOperation(const std::string&, bool agreeing) override { comparing_ = agreeing; }

  const std::shared_ptr<Communicator> inner_;
  const std::shared_future<void> go_on_;
  bool comparing_ = false;
};

TEST(SharedMemoryWaitTest, TheCheckEndsTheWaitForAConnection) {
  const StoreFactory stores = MemoryStores();
  std::promise<void> go_on;
  const std::shared_future<void> waits = go_on.get_future().share();
  RunThreads(2, [&](int rank) {
    StallingCommunicator control(ConnectGloo(stores("run").get(), Pair(rank)), waits);
    std::string awaited;
    const auto attach = [&] {
      SharedMemory::Attach(&control, "memory", 4096, kWaitLimit, "", [&](const std::string& whom) {
        awaited = whom;
        throw PeerLost("in vain", 1);
      });
    };
    if (rank == 0) {
      EXPECT_EQ(ErrorOf(attach), "in vain");
      EXPECT_EQ(awaited, "the other shards of shared memory");
      control.Abort("in vain");
      go_on.set_value();
    } else {
      EXPECT_NE(ErrorOf(attach), "no error");
    }
  });
}

}  // namespace
}  // namespace caffe2::testing

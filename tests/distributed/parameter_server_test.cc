#include "distributed/parameter_server.h"

#include <atomic>
#include <thread>

#include "distributed/gloo_communicator.h"
#include "distributed/memory_store_handler.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// Two parameters with the update w = w - 0.5 * gradient.
class PlainDescent final : public ParameterShard {
 public:
  int64_t size() const override { return 2; }
  void Set(const float* values, int64_t iteration) override {
    std::copy(values, values + 2, values_);
    iteration_ = iteration;
  }
  void Get(float* values) const override { std::copy(values_, values_ + 2, values); }
  float Update(const float* gradients) override {
    for (int i = 0; i < 2; ++i) values_[i] -= 0.5f * gradients[i];
    ++iteration_;
    return 0.5f;
  }
  int64_t iteration() const { return iteration_; }

 private:
  float values_[2] = {};
  int64_t iteration_ = 0;
};

class ParameterServerTest : public ::testing::Test {
 protected:
  std::shared_ptr<Communicator> Connect(int rank, int worker) {
    CommunicatorOptions options;
    options.rank = rank;
    options.size = 2;
    options.name = MakeString("run_", runs_, "_pair_", worker);
    options.interface = "127.0.0.1";
    options.timeout = milliseconds(20000);
    const auto store = stores_("run");
    return ConnectGloo(store.get(), options);
  }

  // Runs work(worker, client) in a thread for each worker, and a server in one thread for each. The
  // server gives lost workers up.
  void Run(int workers, int max_staleness,
           const std::function<void(int worker, ParameterClient* client)>& work) {
    ++runs_;
    server_ = std::make_unique<ParameterServer>(
        &shard_, ParameterServerOptions{.num_workers = workers, .max_staleness = max_staleness});
    RunThreads(2 * workers, [&](int thread) {
      const int worker = thread / 2;
      if (thread % 2 == 0) {
        ParameterClient client({Connect(0, worker)}, {2});
        return work(worker, &client);
      }
      const auto world = Connect(1, worker);
      try {
        server_->Serve(worker, world.get());
      } catch (const PeerLost&) {
        server_->RemoveWorker(worker);
      }
    });
  }

  static void SetGradients(ParameterClient* client, float first, float second) {
    client->gradients(0)[0] = first;
    client->gradients(0)[1] = second;
  }

  const StoreFactory stores_ = MemoryStores();
  PlainDescent shard_;
  std::unique_ptr<ParameterServer> server_;
  int runs_ = 0;  // so that no run sees the addresses of another
};

TEST_F(ParameterServerTest, OneWorkerDescends) {
  for (const int staleness : {0, 3}) {
    Run(1, staleness, [&](int, ParameterClient* client) {
      client->values(0)[0] = 8;
      client->values(0)[1] = -2;
      client->Start(true, 7);
      SetGradients(client, 2, 4);
      for (int step = 1; step <= 3; ++step) {
        const ParameterReply reply = client->Step(0);
        EXPECT_EQ(client->values(0)[0], 8 - step);
        EXPECT_EQ(client->values(0)[1], -2 - 2 * step);
        EXPECT_EQ(reply.updates % 3, step % 3);
        EXPECT_EQ(reply.staleness, 0);
        EXPECT_EQ(reply.learning_rate, 0.5f);
        EXPECT_EQ(reply.is_chief, 1);
      }
      client->Finish();
    });
    EXPECT_EQ(shard_.iteration(), 10);
    EXPECT_EQ(server_->progress().finished_workers, 1);
  }
}

TEST_F(ParameterServerTest, InStepTheUpdateHasTheMeanGradient) {
  Run(3, 0, [&](int worker, ParameterClient* client) {
    client->values(0)[0] = client->values(0)[1] = static_cast<float>(10 * worker);
    client->Start(worker == 0, 0);
    EXPECT_EQ(client->values(0)[0], 0);  // worker 0's
    for (int step = 1; step <= 20; ++step) {
      SetGradients(client, static_cast<float>(2 * worker), static_cast<float>(step));
      EXPECT_EQ(client->Step(0).updates, step);
      EXPECT_FLOAT_EQ(client->values(0)[0], -step);  // the mean of 0, 2 and 4, times a half
      EXPECT_FLOAT_EQ(client->values(0)[1], -0.25f * step * (step + 1));
    }
    client->Finish();
  });
}

// A worker that has got parameters for its step n knows that the others have sent n - bound.
TEST_F(ParameterServerTest, NoWorkerIsFurtherAheadThanTheBound) {
  constexpr int kSteps = 30, kBound = 2;
  std::atomic<int> sent[2] = {0, 0};
  std::atomic<int> largest_lead{0};
  Run(2, kBound, [&](int worker, ParameterClient* client) {
    client->Start(worker == 0, 0);
    SetGradients(client, 1, 1);
    for (int step = 1; step <= kSteps; ++step) {
      if (worker == 1) SleepMs(2);  // the slow one
      ++sent[worker];
      client->Step(0);
      const int lead = step - sent[1 - worker];
      EXPECT_LE(lead, kBound);
      if (lead > largest_lead) largest_lead = lead;
    }
    client->Finish();
    EXPECT_EQ(client->values(0)[0], -0.5f * 2 * kSteps);  // no update is lost
  });
  EXPECT_EQ(server_->progress().updates, 2 * kSteps);
  EXPECT_GT(largest_lead, 0);
  EXPECT_GT(server_->progress().largest_staleness, 0);
}

TEST_F(ParameterServerTest, OthersGoOnWithoutALostWorker) {
  for (const int staleness : {0, 1}) {
    Run(2, staleness, [&](int worker, ParameterClient* client) {
      client->Start(worker == 0, 0);
      SetGradients(client, 1, 1);
      client->Step(0);
      if (worker == 0) return;  // closes its connections
      ParameterReply reply;
      for (int step = 0; step < 5; ++step) reply = client->Step(0);
      EXPECT_EQ(reply.is_chief, 1);
      client->Finish();
    });
    EXPECT_EQ(server_->progress().finished_workers, 1);
    EXPECT_EQ(server_->progress().live_workers, 0);
  }
}

TEST_F(ParameterServerTest, WithoutFirstParametersNobodyTrains) {
  EXPECT_HAS(ErrorOf([&] {
               Run(2, 1, [&](int worker, ParameterClient* client) {
                 // The server's error closes its connection, so that the worker has one, too.
                 if (worker == 1) {
                   EXPECT_THROW(client->Start(false, 0), PeerLost);
                 }
               });
             }),
             "worker 0 was lost before it gave the first parameters");
}

TEST_F(ParameterServerTest, ASignalOfOneReachesAll) {
  Run(2, 0, [&](int worker, ParameterClient* client) {
    client->Start(worker == 0, 0);
    int steps = 0, signal = 0;
    for (; signal == 0 && steps < 100; ++steps) signal = client->Step(worker == 1 ? 15 : 0).signal;
    EXPECT_EQ(signal, 15);
    client->Finish();
  });
  EXPECT_EQ(server_->signal(), 15);
}

}  // namespace
}  // namespace caffe2::testing

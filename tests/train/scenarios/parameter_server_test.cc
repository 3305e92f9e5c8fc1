// Training with parameter servers, the processes as threads.
#include <gtest/gtest.h>

#include "tests/train/trainer_fixture.h"
#include "train/serve_parameters.h"

namespace caffe2 {
namespace {

class ParameterServerTrainingTest : public TrainerTest {
 protected:
  // Runs the workers, and the servers beside them.
  std::vector<ShardResult> RunWithServers(TrainOptions options, int workers, int servers) {
    options.shards.num_servers = servers;
    options.shards.num_shards = workers;
    const std::string run_id = "run" + std::to_string(runs() + 1);
    std::vector<std::thread> threads;
    for (int server = 0; server < servers; ++server) {
      threads.emplace_back([=, this] {
        TrainOptions own = options;
        own.shards.shard_id = workers + server;
        own.shards.run_id = run_id;
        own.shards.file_store_path = directory_.Path(".");
        own.shards.rendezvous_timeout = 60;
        omp_set_num_threads(1);
        try {
          ServeParameters(own);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "server: " << error.what();
        }
      });
    }
    auto results = Run(options, workers);
    for (std::thread& thread : threads) thread.join();
    return results;
  }
};

// Weight decay, momentum and a falling rate, of one server or divided between two.
TEST_F(ParameterServerTrainingTest, OneWorkerLearnsAsWithoutServersToTheBit) {
  for (const char* optimizer : {"sgd", "adam", "adamw", "adagrad", "rmsprop", "lars"}) {
    SCOPED_TRACE(optimizer);
    TrainOptions options = Small("mlp");
    options.model.optimizer = optimizer;
    options.model.base_learning_rate = 0.01f;
    options.model.lr_policy = "poly";
    options.data.test_data = database_;
    options.schedule.num_epochs = 2;
    const auto plain = Run(options);
    for (const int servers : {1, 2}) {
      const auto served = RunWithServers(options, 1, servers);
      EXPECT_EQ(served[0].params, plain[0].params);
      ASSERT_EQ(served[0].log->epochs.size(), 2u);
      EXPECT_EQ(served[0].log->epochs[1].learning_rate, plain[0].log->epochs[1].learning_rate);
      EXPECT_EQ(served[0].log->tests.at(1).loss, plain[0].log->tests.at(1).loss);
    }
  }
}

// With two workers the order of the sum does not matter either.
TEST_F(ParameterServerTrainingTest, InStepTwoWorkersLearnAsTwoShards) {
  TrainOptions options = Small("mlp");
  options.schedule.num_epochs = 3;
  const auto shards = Run(options, 2);
  options.shards.max_staleness = 0;
  const auto workers = RunWithServers(options, 2, 1);
  for (int w = 0; w < 2; ++w) EXPECT_EQ(workers[w].params, shards[w].params);
}

// The worker clips before it sends; no server has all gradients.
TEST_F(ParameterServerTrainingTest, AWorkerClipsAsWithoutServersToTheBit) {
  TrainOptions options = Small("mlp");
  options.model.clip_gradients = 0.3f;
  options.devices = {{}, {}};
  const auto plain = Run(options);
  EXPECT_EQ(RunWithServers(options, 1, 2)[0].params, plain[0].params);
  options.model.clip_gradients = 0;
  EXPECT_NE(Run(options)[0].params, plain[0].params);
}

TEST_F(ParameterServerTrainingTest, FrozenParametersHaveNoUpdate) {
  TrainOptions options = Small("lenet");
  options.model.weight_decay = 0.1f;
  options.model.freeze = {"conv1", "fc3_b"};
  options.model.base_learning_rate = 0.01f;
  const auto plain = Run(options);
  for (const int servers : {1, 3}) {
    EXPECT_EQ(RunWithServers(options, 1, servers)[0].params, plain[0].params);
  }
}

TEST_F(ParameterServerTrainingTest, AsynchronousWorkersLearn) {
  TrainOptions options = Small("mlp");
  options.data.test_data = database_;
  options.schedule.num_epochs = 30;
  options.model.base_learning_rate = 0.01f;  // stale gradients add to the momentum
  const auto workers = RunWithServers(options, 3, 2);
  int tests = 0;
  for (const ShardResult& worker : workers) {
    EXPECT_EQ(worker.params, workers[0].params);  // all have the last parameters
    EXPECT_EQ(worker.log->iterations.size(), 90u);
    for (const TestReport& test : worker.log->tests) EXPECT_EQ(test.images, 101);
    tests += static_cast<int>(worker.log->tests.size());
  }
  ASSERT_EQ(tests, 30);
  EXPECT_GT(workers[0].log->tests.back().accuracy, 0.9);
}

}  // namespace
}  // namespace caffe2

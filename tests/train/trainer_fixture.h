// Small runs of the trainer, of one shard or several.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "tests/db/temporary_directory.h"
#include "tests/train/train_test_util.h"
#include "train/trainer.h"

namespace caffe2 {

// Keeps what the loop reports.
class Recorder : public TrainListener {
 public:
  void OnIteration(const IterationReport& report) override {
    iterations.push_back(report);
    if (hook) hook();
  }
  void OnTest(const TestReport& report) override { tests.push_back(report); }
  void OnEpochEnd(const EpochReport& report) override { epochs.push_back(report); }
  void OnModelSaved(const std::string& path) override { models.push_back(path); }

  std::vector<IterationReport> iterations;
  std::vector<TestReport> tests;
  std::vector<EpochReport> epochs;
  std::vector<std::string> models;
  std::function<void()> hook;  // called after each iteration that is reported
};

struct ShardResult {
  std::string state;
  std::vector<float> params;
  std::shared_ptr<Recorder> log = std::make_shared<Recorder>();
  std::string error;
  int exit_code = 0;  // of the error
  int signal = 0;
};

class TrainerTest : public ::testing::Test {
 protected:
  static constexpr int kSide = 16, kLabels = 4;

  TrainerTest() : database_(directory_.Path("train.minidb")) {
    testing::MakeImageDatabase(database_, 101, kSide, kLabels, 1);
  }

  TrainOptions Small(const std::string& network) const {
    return testing::SmallRun(database_, network, kSide, kLabels);
  }

  // Runs all shards of the options as threads that meet in the test's directory. The last shard
  // asks `stop`, with the number of iterations that it has finished, for the signal that stops it.
  std::vector<ShardResult> Run(TrainOptions options, int num_shards = 1,
                               std::function<int(size_t finished)> stop = nullptr) {
    options.shards.num_shards = num_shards;
    options.shards.run_id = "run" + std::to_string(++runs_);
    options.shards.file_store_path = directory_.Path(".");
    options.shards.rendezvous_timeout = 60;
    std::vector<ShardResult> results(static_cast<size_t>(num_shards));
    std::vector<std::thread> threads;
    for (int shard = 0; shard < num_shards; ++shard) {
      threads.emplace_back([&, shard] {
        omp_set_num_threads(1);  // nets as small as these only wait for each other's threads
        TrainOptions own = options;
        own.shards.shard_id = shard;
        if (adjust_) adjust_(&own);
        ShardResult& result = results[static_cast<size_t>(shard)];
        try {
          Trainer::StopFunction own_stop;
          if (stop && shard == num_shards - 1) {
            own_stop = [&] { return stop(result.log->iterations.size()); };
          }
          Trainer trainer(own, result.log, own_stop);
          if (on_iteration_) result.log->hook = [&] { on_iteration_(&trainer, shard); };
          result.signal = trainer.Run();
          result.state = testing::StateDigest(&trainer);
          result.params = testing::Parameters(&trainer);
        } catch (const std::exception& error) {
          result.error = error.what();
          result.exit_code = static_cast<int>(ExitCodeOf(error));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const ShardResult& result : results) {
      if (!errors_expected_) {
        EXPECT_EQ(result.error, "");
      }
    }
    return results;
  }

  int runs() const { return runs_; }  // so far; run n has the run_id "run<n>"

  testing::TemporaryDirectory directory_;
  std::string database_;
  bool errors_expected_ = false;
  std::function<void(TrainOptions*)> adjust_;  // of each shard's options
  // Called on the training thread of each shard after each iteration that is reported.
  std::function<void(Trainer*, int shard)> on_iteration_;

 private:
  int runs_ = 0;
};

}  // namespace caffe2

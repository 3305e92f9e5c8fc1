// The training loop.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "train/bad_record_count.h"
#include "train/checkpoint.h"
#include "train/coverage_check.h"
#include "train/evaluator.h"
#include "train/iteration_exchange.h"
#include "train/iteration_means.h"
#include "train/model_view.h"
#include "train/moving_average.h"
#include "train/observe/run_trace.h"
#include "train/options.h"
#include "train/parameter_check.h"
#include "train/parameter_worker.h"
#include "train/report.h"
#include "train/run_lock.h"
#include "train/run_models.h"
#include "train/shard_run.h"
#include "train/stop_watchdog.h"
#include "train/train_nets.h"
#include "train/train_records.h"

namespace caffe2 {

// Runs one shard of a training run: builds the nets, joins the other shards, restores or
// initialises the parameters, then iterates. Only the nets change parameters. Not thread-safe.
//
// After every iteration (local SGD: after every average) all shards agree on whether to go on. They
// stop together when one of them is asked to stop, and fail together when the loss of one is NaN or
// exceeds kMaxLoss.
class Trainer {
 public:
  static constexpr double kMaxLoss = 40.0;

  // Returns the number of a signal that must end the run of all shards, or 0. Called after every
  // iteration, while the shard waits for others, and by other threads.
  using StopFunction = std::function<int()>;

  // Throws like Validate and WithEpochSize. The listener, which may be null, gets the events of
  // this shard.
  explicit Trainer(const TrainOptions& options, std::shared_ptr<TrainListener> listener = nullptr,
                   StopFunction stop = nullptr);
  ~Trainer();

  // Trains to the end, or with schedule.evaluate only tests. Returns 0, or the number of the signal
  // that ended the run early. Writes a checkpoint at the end if checkpoint_every is set, and after
  // a signal also if checkpoint_on_stop is set. With one shard, exceptions pass through; with
  // several, it throws IoError with the line that all shards report.
  int Run();

  // For tests, after Run().
  const Progress& progress() const { return progress_; }
  const TestReport& last_test() const { return last_test_; }
  Workspace* workspace() { return &ws_; }
  const TrainNets& nets() const { return nets_; }

 private:
  // True if the run continues from its checkpoint. All shards must call it together.
  bool Resumes();
  void LockOutputs();
  void SetUp();
  void WarnOfEarlierFiles() const;
  void ExportMissing();
  void SetUpLoop(const LoadedCheckpoint* resumed);
  StartReport ReportOfStart();  // for a run that starts now
  int Loop();
  int Evaluate();
  // Returns true if the run must end after this epoch.
  bool RunEpoch();
  IterationStatus RunIteration();
  // True if the shards exchange after this iteration, which has been counted.
  bool IsExchangeDue() const;
  // `own` holds the sums of this shard's iterations since the last exchange. This adds the rest.
  IterationStatus Exchange(ShardIterations own);
  void CheckParameters(const IterationStatus& status);
  // With parameter servers: sends the gradients and gets parameters. Returns the signal that ends
  // the run of all workers, or 0.
  int ExchangeWithServers();
  // If the worker that wrote files was given up, and this one is the next: tells the listeners.
  void TakeOverFiles();
  void Report(const IterationStatus& status, bool last);
  void FinishEpoch();
  void Test();
  void ExportModels();
  void ExportUnfinished();
  bool EndsEarly() const;  // by the patience
  void SaveCheckpoint();
  void Checkpoint();
  void LogStop() const;
  // After the wait for input was given up because of a signal: saves the run if it can, and returns
  // the signal. A thread of the input still hangs.
  int StopWithoutInput(const std::exception& error);
  // Ends the process, whose training thread waits for a write that hangs, of `what`. Runs in the
  // watchdog.
  void EndInWrite(int signal, const std::string& what);
  void SetState(const std::string& state);
  bool LimitReached() const;
  int64_t IterationsLeft() const {  // of this epoch
    return options_.IterationsLeft(progress_.epoch_images);
  }
  double Scalar(const std::string& blob) const;
  double LearningRate() const;  // of the last iteration
  // The mean over the replicas of this shard; `blob` is the blob of the first replica.
  double MeanOfReplicas(const std::string& blob) const;

  // The signal that ends the run; another shard may have got it. 0: none. The watchdog reads it.
  std::atomic<int> stop_signal_{0};
  // Null if nothing may end the process. Before options_, because preparing the options reads the
  // data.
  std::unique_ptr<StopWatchdog> watchdog_;
  const TrainOptions options_;
  const TrainOptions test_options_;
  std::shared_ptr<TrainListener> listener_;
  StopFunction stop_;
  Workspace ws_;
  TrainNets nets_;
  const TrainRecords records_{nets_, ws_};
  std::unique_ptr<ShardRun> run_;
  std::unique_ptr<ParameterWorker> servers_;  // null without parameter servers
  std::unique_ptr<RunModels> models_;
  std::unique_ptr<RunLock> checkpoint_lock_;  // null if this process writes no checkpoints
  std::unique_ptr<CheckpointSaver> saver_;    // null without checkpoints
  std::unique_ptr<ModelView> view_;
  std::unique_ptr<ModelAverage> moving_average_;  // null without --ema_decay
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<BadRecordCount> bad_records_;      // null without a database
  std::unique_ptr<CoverageCheck> coverage_check_;    // null without --check_coverage
  std::unique_ptr<ParameterCheck> parameter_check_;  // null with one shard, or if switched off
  std::unique_ptr<RunTrace> trace_;                  // null without a timeline
  Progress progress_;
  bool writes_files_ = false;  // the listeners know it
  TestReport last_test_;
  ShardStatus shard_status_;
  ShardIterations unexchanged_;  // sums since the last exchange, of this shard
  ShardSeconds unsent_;          // of this shard, since the last exchange
  IterationMeans means_;         // since the last report
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
  int64_t taken_before_ = 0;      // records, before the iteration under way
  int64_t started_at_ = 0;        // total iterations when this process began to train
  int64_t checkpointed_at_ = -1;  // total iterations
};

}  // namespace caffe2

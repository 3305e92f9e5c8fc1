// The events of the training loop, and the interface of their listeners.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/run_lock.h"

namespace caffe2 {

class TestPredictions;
class Workspace;
struct TrainNets;
struct TrainOptions;

// A run whose nets exist and whose parameters have their first values.
struct StartReport {
  // They outlive the run. Listeners may read parameters in the workspace and attach observers to
  // the nets in it.
  const TrainOptions* options = nullptr;
  const TrainNets* nets = nullptr;
  Workspace* workspace = nullptr;
  RunIdentity identity = {};  // run_id: "" with one shard
  // Where the run starts: the epoch is 0 or load_epoch, and the iterations 0, unless it resumes.
  int epoch = 0;
  int64_t total_iterations = 0;
};

// How one shard spent its time.
struct ShardSpeed {
  double images_per_second = 0;
  double input_wait = 0;  // fraction of the time that it waited for images
  // Fraction of the time in which its host did collective operations, which is mostly waiting for
  // slower shards.
  double exchanging = 0;
};

// One iteration, or the mean over the iterations since the last report.
struct IterationReport {
  int epoch = 0;          // counted from 0
  int64_t iteration = 0;  // of this epoch, counted from 1
  int64_t epoch_iterations = 0;
  int64_t total_iterations = 0;  // of the whole run
  int64_t iterations = 1;        // the number of iterations that the means are over
  double seconds = 0;            // of one iteration
  double loss = 0;               // mean over all shards
  double accuracy = 0;           // top-1, over all shards
  double accuracy_top5 = 0;
  double images_per_second = 0;      // of this shard
  double job_images_per_second = 0;  // of all shards
  double input_wait = 0;             // fraction of the time in which this shard waited for images
  double learning_rate = 0;          // of the last iteration
  // By shard. The shards exchange their times one iteration late, so the newest iteration is not
  // in them. Empty before the first such exchange, with one shard, and with parameter servers.
  std::vector<ShardSpeed> shards = {};
};

struct EpochReport {
  int epoch = 0;
  int num_epochs = 0;
  double loss = 0;  // mean over the epoch and all shards
  double accuracy = 0;
  double seconds = 0;  // of the epoch's iterations, without tests and saving
  int64_t images = 0;  // in this epoch, over all shards
  double learning_rate = 0;
  int64_t total_iterations = 0;
  double test_accuracy = -1;  // -1: not tested
};

struct TestReport {
  int epoch = 0;
  int64_t total_iterations = 0;  // of the run so far; 0 for an exported model
  int64_t images = 0;            // over all shards; every image counted once
  double loss = 0;
  double accuracy = 0;
  double accuracy_top5 = 0;
  double best_accuracy = 0;  // of this test and all earlier ones
  double seconds = 0;
  // Of all shards, with the keys of the worst images. Only on shard 0, and only if its
  // OutputOptions::worst_images is set; otherwise null.
  std::shared_ptr<const TestPredictions> predictions = nullptr;
};

// Listens to the training loop, on the training thread. Implementations must not change the run.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  // The shards have met; nothing has been read yet. The only event before a test in a run that only
  // tests a model (--evaluate).
  virtual void OnJoin(const RunIdentity& identity) {}
  virtual void OnStart(const StartReport& report) {}
  // With parameter servers: the worker that wrote models and records was given up, and this one
  // writes them from now on. The report says where it is.
  virtual void OnTakeOver(const StartReport& report) {}
  // What this shard does from now on: training, testing, saving or finished.
  virtual void OnState(const std::string& state) {}
  virtual void OnEpochStart(int epoch, int num_epochs) {}
  virtual void OnIteration(const IterationReport& report) {}
  // For people who wait: about once a second, if iterations end without a report, the means since
  // the last report. `shards` is empty.
  virtual void OnProgress(const IterationReport& report) {}
  virtual void OnTest(const TestReport& report) {}
  virtual void OnEpochEnd(const EpochReport& report) {}
  virtual void OnModelSaved(const std::string& path) {}
};

}  // namespace caffe2

// The state of a run as numbers, for Prometheus.
#pragma once

#include <mutex>
#include <string>

#include "train/report.h"

namespace caffe2 {

// Keeps the newest reports of this shard. Any thread may call Text() at any time. It delays the
// training thread at most for the time to copy the reports.
class RunMetrics : public TrainListener {
 public:
  // `run_id` may be empty (one shard).
  RunMetrics(const std::string& run_id, int shard_id, int num_shards);

  void OnStart(const StartReport& report) override;
  void OnState(const std::string& state) override;
  void OnIteration(const IterationReport& report) override;
  void OnTest(const TestReport& report) override;
  void OnModelSaved(const std::string& path) override;

  // All metrics in Prometheus' text format 0.0.4, with the labels run and shard. docs/tools.md
  // lists them. Metrics of events that have not happened yet are left out.
  std::string Text() const;

 private:
  struct Values {
    std::string state = "joining";
    int num_epochs = 0;
    int64_t batch_size = 0;     // of all shards
    IterationReport iteration;  // total_iterations 0: none yet
    TestReport test;            // images 0: none yet
    int64_t models = 0;
  };

  const std::string labels_;  // run="r",shard="0"
  const int num_shards_;
  mutable std::mutex mutex_;
  Values values_;
};

}  // namespace caffe2

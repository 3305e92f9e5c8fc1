// The parameters of a model in training, for tests and exports.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

// A workspace that shares the parameters of the first replica of `training`, under their stripped
// names, and holds running statistics averaged over all replicas of all shards. In a run with a
// moving average (TrainNets::ema), these are the averages of both. Nets that run in it cannot see
// any other training blob.
class ModelView {
 public:
  // All arguments must outlive the view. The parameters must exist.
  ModelView(const TrainNets& nets, const Workspace* training, ShardRun* run);

  // Averages the running statistics; all shards must call it. The variance is the mean of the
  // variances, because the batches of all shards come from one distribution.
  void Refresh();

  Workspace* workspace() { return &workspace_; }

 private:
  const TrainNets& nets_;
  const Workspace* training_;
  ShardRun* run_;
  Workspace workspace_;
};

}  // namespace caffe2

// The parameters of a model in training, as tests and exports see them.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

// A workspace that sees the parameters of one replica of `training` under their stripped names,
// and copies of the running statistics averaged over all shards. Nets that run in it cannot see,
// let alone change, any other training blob.
class ModelView {
 public:
  // Both must outlive the view; the parameters must exist.
  ModelView(const TrainNets& nets, const Workspace* training, ShardRun* run);

  // Averages the running statistics anew; an exchange between all shards. The mean of the variances
  // is what is used, as every shard's batches come from one distribution.
  void Refresh();

  Workspace* workspace() { return &workspace_; }

 private:
  const TrainNets& nets_;
  const Workspace* training_;
  ShardRun* run_;
  Workspace workspace_;
};

}  // namespace caffe2

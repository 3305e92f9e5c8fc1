// Local SGD: each shard trains by itself for some iterations, then all shards continue from the
// average of their parameters. With block momentum, the average becomes a step of a global model
// (block-wise model update filtering, BMUF; Caffe2: Parallelize_BMUF).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/graph/data_parallel.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// One step of the global model, for each parameter w:
//   v = momentum * v + learning_rate * (mean of w - g);  g = g + v;  w = g
// where v is the block momentum and g the value of w after the previous step.
struct ModelUpdate {
  float momentum = 0.f;
  float learning_rate = 1.f;
  // True if w simply becomes its mean; g and v then do not exist.
  bool IsMean() const { return momentum == 0.f && learning_rate == 1.f; }
};

// The blobs that AddModelAveraging needs, with their replicas on this shard.
struct AveragedBlobs {
  std::vector<ReplicatedBlob> params;
  std::vector<ReplicatedBlob> states;         // of the optimizer; float, averaged without momentum
  std::map<std::string, TensorShape> shapes;  // of all replicas
};

// Adds the exchange to `net`: parameters and states become their means over all replicas of all
// shards, and then the block update changes the parameters. Uses the common world "allreduce_0_cw".
// Before the exchange runs, all replicas of a shard must hold the same values. Throws what
// PlanGradientBuckets throws.
void AddModelAveraging(NetDef* net, const AveragedBlobs& blobs, const ModelUpdate& update,
                       const DataParallelOptions& options);

// The blob of the momentum v of a parameter ("cpu_0/fc1_w_block_momentum"). AddBlockMomentum adds
// operators to `init_net` that fill these blobs with zeros.
std::string BlockMomentumOf(const std::string& param);
void AddBlockMomentum(NetDef* init_net, const std::vector<ReplicatedBlob>& params,
                      const DataParallelOptions& options);

// Adds operators that copy the parameters to g ("cpu_0/fc1_w_block_model"). Run them once before
// training begins, and before it resumes from averaged parameters.
void AddBlockModel(NetDef* net, const std::vector<ReplicatedBlob>& params,
                   const DataParallelOptions& options);

}  // namespace caffe2

// Checkpoints: the complete state of a run in one file, so that it continues exactly to the bit.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/proto/checkpoint.pb.h"
#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

// The progress of a run.
struct Progress {
  int64_t total_iterations = 0;
  int epoch = 0;                 // counted from 0
  int64_t epoch_iterations = 0;  // done in this epoch
  // Sums over the iterations of this epoch.
  double loss_sum = 0;
  double accuracy_sum = 0;
  double seconds = 0;
};

// Gathers the state of all shards, so every shard must call it. Shard 0 then writes the file (a
// minidb with a checksum: see SaveBlobs). Does not change the state. Throws IoError.
void SaveCheckpoint(const std::string& path, const TrainOptions& options, const TrainNets& nets,
                    const Progress& progress, Workspace* ws, ShardRun* run);

// Reads a checkpoint; every shard must call it. Shard 0 reads parameters and optimizer state from
// the file into `ws`. Every shard gets the other contents, for RestoreShard. Throws IoError for a
// damaged file; EnforceNotMet, with the differences, if the file is from a run with other settings.
CheckpointProto LoadCheckpoint(const std::string& path, const TrainOptions& options,
                               const TrainNets& nets, Workspace* ws, ShardRun* run);

// Restores the private state of this shard: running statistics, random state and data position.
// Call it after the broadcast of the parameters, when the training net exists.
void RestoreShard(const CheckpointProto& checkpoint, const TrainNets& nets, int shard_id,
                  Workspace* ws);
Progress ProgressOf(const CheckpointProto& checkpoint);

}  // namespace caffe2

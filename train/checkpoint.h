// Everything a run needs to continue to the bit, in one file written by shard 0.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/proto/checkpoint.pb.h"
#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

// How far a run has come.
struct Progress {
  int64_t total_iterations = 0;
  int epoch = 0;                 // counted from 0
  int64_t epoch_iterations = 0;  // done in this epoch
  double loss_sum = 0;           // over these iterations
  double accuracy_sum = 0;
  double seconds = 0;
};

// Gathers the state of all shards: an exchange, which every shard must enter. Shard 0 then writes
// the file (a minidb with a checksum: see SaveBlobs). Reads state only. Throws IoError.
void SaveCheckpoint(const std::string& path, const TrainOptions& options, const TrainNets& nets,
                    const Progress& progress, Workspace* ws, ShardRun* run);

// Shard 0 reads parameters and optimizer state from the file into `ws`, and every shard gets the
// rest of it, for RestoreShard. An exchange. Throws IoError for a damaged file and EnforceNotMet,
// listing the differences, if the settings of the run are others than those of the file.
CheckpointProto LoadCheckpoint(const std::string& path, const TrainOptions& options,
                               const TrainNets& nets, Workspace* ws, ShardRun* run);

// Puts back what only this shard knows: running statistics, random state and data position. After
// the parameters were broadcast and the training net was made.
void RestoreShard(const CheckpointProto& checkpoint, const TrainNets& nets, int shard_id,
                  Workspace* ws);
Progress ProgressOf(const CheckpointProto& checkpoint);

}  // namespace caffe2

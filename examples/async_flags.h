// Flags of training without an exchange in every iteration (docs/design/async.md). This header
// defines flags, so only the .cc file with a program's main includes it.
#pragma once

#include <gflags/gflags.h>

#include "train/options.h"

DEFINE_int64(
    sync_every, 0,
    "local SGD: each shard trains by itself for this many iterations, then all average their "
    "parameters; 0: shards sum their gradients in every iteration");
DEFINE_double(block_momentum, 0,
              "BMUF: momentum of the averages of --sync_every, from 0 to below 1");
DEFINE_double(block_learning_rate, 1,
              "BMUF: factor of the change that an average makes to the parameters");
DEFINE_int32(
    param_servers, 0,
    "asynchronous training: number of servers, which keep the parameters: the last of the "
    "--num_shards processes; 0: none, or as many as the launcher starts (tasks of type ps in "
    "TF_CONFIG)");
DEFINE_int32(max_staleness, 4,
             "parameter servers: iterations that a worker may be ahead of the slowest; 0: all "
             "workers go in step, with one update in each iteration");

namespace caffe2 {

inline void SetAsyncOptions(TrainOptions* options) {
  options->schedule.sync_every = FLAGS_sync_every;
  options->schedule.block_momentum = static_cast<float>(FLAGS_block_momentum);
  options->schedule.block_learning_rate = static_cast<float>(FLAGS_block_learning_rate);
}

}  // namespace caffe2

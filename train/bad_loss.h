// The end of a run whose loss exploded.
#pragma once

#include <string>

#include "caffe2/core/workspace.h"
#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

// All shards must call it together. Throws like ShardRun::ThrowBlaming, with the code kBadData and
// the same text on all shards: "Exploded gradients: the loss of shard 1 (host a, pid 17) is 1e+30
// in iteration 3 of epoch 0", and which flags may help. `shard` has the bad loss, `when` is the
// iteration. NaN stands for any loss that is not finite. In that case `shard` searches its
// workspace for the first bad value of the iteration, and the text ends with the result
// (DescribeNotFinite).
[[noreturn]] void ThrowBadLoss(int shard, double loss, const std::string& when,
                               const TrainNets& nets, const Workspace& ws, ShardRun* run);

}  // namespace caffe2

// What a run shows of the nets that a process runs: state, iteration, loss and images a second of
// its status, for processes that do not tell these themselves.
#pragma once

#include <cstdint>
#include <string>

namespace caffe2 {

// A net is watched if it counts iterations (Iter, AtomicIter) or reduces gradients over shards, or
// if one of these arguments of the net is set:
//  - progress_state: what the status shows while it runs and afterwards (default "training");
//  - progress_loss: blobs of one float each; with progress_loss_scale, a number for each (default
//    1), the sum of their products is the loss of this shard;
//  - progress_images: blobs, the sum of whose first dimensions is the images of a run.
// The iteration is the counter's value or, where no net has one, the number of runs of the net.
// Blobs that are missing are passed over. Loss and speed are renewed every half second at most.

// Lets all nets that are made from now on be watched. Called once.
void WatchNetsForProgress();

// Shows another state ("saving") until the next watched net runs.
void ShowProgressState(const std::string& state);
// Shows this epoch from now on.
void ShowProgressEpoch(int64_t epoch);

// Gives what is known to all runs that this process has joined. Never blocks on a store.
void PublishProgress();

}  // namespace caffe2

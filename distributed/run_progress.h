// Publishes the progress of a process's nets in the status of its runs: state, iteration, loss and
// images per second. For processes that do not call RunMembership::UpdateStatus themselves.
#pragma once

#include <cstdint>
#include <string>

namespace caffe2 {

// A net is watched if it counts iterations (Iter, AtomicIter), reduces gradients over shards, or
// has one of these arguments:
//  - progress_state: the state to show from the start of each run of the net (default "training");
//  - progress_loss: blobs of one float each; progress_loss_scale has a factor for each (default 1).
//    The loss of this shard is the sum of the products;
//  - progress_images: blobs; the sum of their first dimensions is the number of images in one run.
// The iteration is the value of the counter or, if no net has one, the number of runs of a net with
// the state "training".
// Missing blobs are ignored. Loss and speed are updated at most every half second.

// Watches all nets that are created from now on. Call it once.
void WatchNetsForProgress();

// Shows another state ("saving") until the next watched net runs.
void ShowProgressState(const std::string& state);
// Shows this epoch from now on.
void ShowProgressEpoch(int64_t epoch);

// Gives the current status to all runs that this process has joined. Never blocks on a store.
void PublishProgress();

}  // namespace caffe2

// The private states of shards, from a checkpoint of any number of shards.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "caffe2/proto/checkpoint.pb.h"

namespace caffe2 {

// How the batches of a run are divided.
struct ShardLayout {
  int64_t num_shards = 1;
  int64_t num_devices = 1;  // replicas of each shard
  int64_t batch_size = 0;   // of one shard

  int64_t BatchOfAllShards() const { return batch_size * num_shards; }
  friend bool operator==(const ShardLayout& a, const ShardLayout& b) = default;
};

// The layout in the settings of a run (RunSettings), or of the run that wrote the checkpoint.
// Throws EnforceNotMet, which names the setting, if one is missing or no number.
ShardLayout LayoutOf(const std::map<std::string, std::string>& settings);
ShardLayout LayoutOf(const CheckpointProto& checkpoint);
// True for the settings that LayoutOf reads.
bool IsLayoutSetting(const std::string& name);

// A run can resume in another layout if the batch of all shards stays the same or, with
// `batch_may_change`, if the batch of each shard does (docs/design/resume.md). Returns "" if it
// can, or else what differs and what to do.
std::string LayoutConflict(const ShardLayout& there, const ShardLayout& now, bool batch_may_change);

// The images of all shards that the epoch of the checkpoint has had so far. Throws EnforceNotMet if
// the checkpoint says something impossible.
int64_t EpochImages(const CheckpointProto& checkpoint);
// What a run in layout `now` adds to the counter of iterations, so that the schedule of its
// learning rate goes on at the same part of the same epoch of `epoch_size` images.
int64_t RateOffset(const CheckpointProto& checkpoint, int64_t epoch_size, const ShardLayout& now);

// The running statistics in `checkpoint`, averaged over all of its shards and their replicas:
// `size` floats, one statistic after another. The variance is the mean of the variances, as in
// ModelView::Refresh. Throws EnforceNotMet if a shard does not hold a multiple of `size` floats.
std::vector<float> MeanStatistics(const CheckpointProto& checkpoint, size_t size);

// The state of each shard of a run in layout `now`, whose nets have `statistics` floats of running
// statistics in each replica and `random_positions` random positions. The run goes on with the next
// image of the checkpoint's. Statistics are the means of the checkpoint; random positions are
// beyond those that any of its shards has used. Throws EnforceNotMet if the shards of the
// checkpoint have read different numbers of records.
ShardStateProto StateInLayout(const CheckpointProto& checkpoint, const ShardLayout& now,
                              size_t statistics, size_t random_positions);

// What a run in layout `now` does as the run that wrote the checkpoint, and what it does not.
std::string DescribeOtherLayout(const CheckpointProto& checkpoint, const ShardLayout& now);

}  // namespace caffe2

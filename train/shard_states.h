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
// Throws EnforceNotMet, which names the setting, if one is missing or not a number from 1 to 2^20.
ShardLayout LayoutOf(const std::map<std::string, std::string>& settings);
ShardLayout LayoutOf(const CheckpointProto& checkpoint);
// True for the settings that LayoutOf reads.
bool IsLayoutSetting(const std::string& name);

// A run can resume in another layout if the batch of all shards stays the same or, with
// `batch_may_change`, if the batch of each shard does (docs/design/resume.md). Returns "" if it
// can, or else what differs and what to do.
std::string LayoutConflict(const ShardLayout& there, const ShardLayout& now, bool batch_may_change);

// The number of images that all shards have trained on in the current epoch of the checkpoint.
// Throws EnforceNotMet if a number in the checkpoint is out of range.
int64_t EpochImages(const CheckpointProto& checkpoint);
// The number that a run with layout `now` must add to its iteration counter, so that the learning
// rate schedule continues at the same point of the same epoch of `epoch_size` images.
int64_t RateOffset(const CheckpointProto& checkpoint, int64_t epoch_size, const ShardLayout& now);

// The running statistics in `checkpoint`, averaged over all replicas of all shards: `size` floats,
// one statistic after another. The variance is the mean of the variances, as in ModelView::Refresh.
// Throws EnforceNotMet if the statistics of a shard are not a positive multiple of `size` floats.
std::vector<float> MeanStatistics(const CheckpointProto& checkpoint, size_t size);

// The state with which each shard of a run with layout `now` continues from the checkpoint, without
// random positions. It is the same for all shards. Each replica has `statistics` floats of running
// statistics, which become the means over the replicas of the checkpoint. The run continues with
// the image after the last one of the checkpoint. Throws EnforceNotMet if the shards of the
// checkpoint have read different numbers of records.
ShardStateProto StateInLayout(const CheckpointProto& checkpoint, const ShardLayout& now,
                              size_t statistics);

// Says how a run with layout `now` behaves like the run that wrote the checkpoint, and how it
// differs.
std::string DescribeOtherLayout(const CheckpointProto& checkpoint, const ShardLayout& now);

}  // namespace caffe2

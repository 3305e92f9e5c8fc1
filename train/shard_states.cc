#include "train/shard_states.h"

#include <algorithm>
#include <cstdlib>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

int64_t Number(const std::map<std::string, std::string>& settings, const std::string& name) {
  const auto found = settings.find(name);
  CAFFE_ENFORCE(found != settings.end(), "the checkpoint has no setting ", name);
  char* end = nullptr;
  const int64_t value = std::strtoll(found->second.c_str(), &end, 10);
  CAFFE_ENFORCE(!found->second.empty() && *end == '\0' && value > 0, "the setting ", name,
                " of the checkpoint is \"", found->second, "\", which is no positive number");
  return value;
}

// The largest position of any random stream of any shard.
uint64_t LastRandomPosition(const CheckpointProto& checkpoint) {
  uint64_t last = 0;
  for (const ShardStateProto& state : checkpoint.shard()) {
    for (const uint64_t position : state.random_position()) last = std::max(last, position);
  }
  return last;
}

// The records that each of `num_shards` shards has read where the checkpoint was written.
int64_t PositionOfEach(const CheckpointProto& checkpoint, int64_t num_shards) {
  const int64_t position = checkpoint.shard(0).data_position();
  for (const ShardStateProto& state : checkpoint.shard()) {
    CAFFE_ENFORCE_EQ(state.data_position(), position,
                     "the shards of the checkpoint have read different numbers of records, so "
                     "only as many shards can resume it");
  }
  const int64_t all = position * checkpoint.shard_size();
  CAFFE_ENFORCE(all % num_shards == 0, "the checkpoint is after ", all,
                " records of the training data, which ", num_shards,
                " shards cannot have read in equal parts");
  return all / num_shards;
}

}  // namespace

ShardLayout LayoutOf(const std::map<std::string, std::string>& settings) {
  return {.num_shards = Number(settings, "num_shards"),
          .num_devices = Number(settings, "num_devices"),
          .batch_size = Number(settings, "batch_size")};
}

ShardLayout LayoutOf(const CheckpointProto& checkpoint) {
  std::map<std::string, std::string> settings;
  for (const SettingProto& setting : checkpoint.setting()) {
    settings[setting.name()] = setting.value();
  }
  return LayoutOf(settings);
}

bool IsLayoutSetting(const std::string& name) {
  return name == "num_shards" || name == "num_devices" || name == "batch_size";
}

std::string LayoutConflict(const ShardLayout& there, const ShardLayout& now) {
  const int64_t batch = there.batch_size * there.num_shards;
  if (now.batch_size * now.num_shards == batch) return "";
  if (there.num_shards == now.num_shards) {
    return MakeString(" batch_size (", there.batch_size, " there, ", now.batch_size, " now)");
  }
  const std::string advice = batch % now.num_shards == 0
                                 ? MakeString("use --batch_size ", batch / now.num_shards)
                                 : MakeString("use a number of shards that divides ", batch);
  return MakeString(" batch_size and num_shards (", there.batch_size, " x ", there.num_shards,
                    " there, ", now.batch_size, " x ", now.num_shards,
                    " now; the batch of all "
                    "shards must stay the same: ",
                    advice, ")");
}

std::vector<float> MeanStatistics(const CheckpointProto& checkpoint, size_t size) {
  std::vector<double> sums(size, 0.0);
  double replicas = 0;
  for (const ShardStateProto& state : checkpoint.shard()) {
    const auto& values = state.computed_param();
    const auto found = static_cast<size_t>(values.size());
    CAFFE_ENFORCE(size == 0 ? found == 0 : found > 0 && found % size == 0,
                  "a shard of the checkpoint has ", found,
                  " numbers of running statistics; the model has ", size);
    for (size_t i = 0; i < found; ++i) sums[i % size] += values[static_cast<int>(i)];
    replicas += size == 0 ? 0.0 : static_cast<double>(found / size);
  }
  std::vector<float> means(size);
  std::transform(sums.begin(), sums.end(), means.begin(),
                 [replicas](double sum) { return static_cast<float>(sum / replicas); });
  return means;
}

ShardStateProto StateInLayout(const CheckpointProto& checkpoint, const ShardLayout& now,
                              size_t statistics, size_t random_positions) {
  CAFFE_ENFORCE(checkpoint.shard_size() > 0, "the checkpoint has no shards");
  ShardStateProto state;
  const std::vector<float> means = MeanStatistics(checkpoint, statistics);
  for (int64_t replica = 0; replica < now.num_devices; ++replica) {
    state.mutable_computed_param()->Add(means.begin(), means.end());
  }
  const uint64_t random = LastRandomPosition(checkpoint);
  for (size_t i = 0; i < random_positions; ++i) state.add_random_position(random);
  if (checkpoint.shard(0).has_data_position()) {
    state.set_data_position(PositionOfEach(checkpoint, now.num_shards));
  }
  return state;
}

std::string DescribeOtherLayout(const CheckpointProto& checkpoint, const ShardLayout& now) {
  const ShardLayout there = LayoutOf(checkpoint);
  const int64_t part = there.batch_size / there.num_devices,
                part_now = now.batch_size / now.num_devices;
  std::string text = MakeString(
      "The checkpoint is from ", there.num_shards, " shards of ", there.num_devices,
      " replicas, this run has ", now.num_shards, " of ", now.num_devices, ". ",
      checkpoint.shard(0).has_data_position() ? "The same images follow in the same order"
                                              : "Other synthetic images follow",
      ", ", now.batch_size * now.num_shards,
      " in each iteration. Results are not the same to the bit: sums over the shards are rounded "
      "in "
      "another order");
  if (checkpoint.shard(0).computed_param_size() > 0) {
    text += MakeString("; batch normalization sees ", part_now, " images at a time instead of ",
                       part, ", and its running statistics go on from their means");
  }
  if (LastRandomPosition(checkpoint) > 0) text += "; operators draw other random numbers";
  return text;
}

}  // namespace caffe2

#include "train/shard_states.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "caffe2/core/logging.h"
#include "train/random_positions.h"

namespace caffe2 {
namespace {

constexpr int64_t kMaxLayoutNumber = 1 << 20;  // of the numbers in a layout
constexpr int64_t kMaxImages = std::numeric_limits<int64_t>::max() / 4;

int64_t Number(const std::map<std::string, std::string>& settings, const std::string& name) {
  const auto found = settings.find(name);
  CAFFE_ENFORCE(found != settings.end(), "the checkpoint has no setting ", name);
  char* end = nullptr;
  const int64_t value = std::strtoll(found->second.c_str(), &end, 10);
  CAFFE_ENFORCE(!found->second.empty() && *end == '\0' && value > 0 && value <= kMaxLayoutNumber,
                "the setting ", name, " of the checkpoint is \"", found->second,
                "\", which is not a number from 1 to ", kMaxLayoutNumber);
  return value;
}

// The records that all shards have read where the checkpoint was written.
int64_t RecordsRead(const CheckpointProto& checkpoint) {
  const int64_t position = checkpoint.shard(0).data_position(),
                offset = checkpoint.shard(0).data_offset();
  for (const ShardStateProto& state : checkpoint.shard()) {
    CAFFE_ENFORCE(state.data_position() == position && state.data_offset() == offset,
                  "the shards of the checkpoint have read different numbers of records, so "
                  "only as many shards can resume it");
  }
  const int64_t shards = checkpoint.shard_size();
  CAFFE_ENFORCE(position >= 0 && position < kMaxImages / shards && offset >= 0 && offset < shards,
                "the checkpoint is damaged: its shards are at position ", position, ", offset ",
                offset, " of the training data");
  return position * shards + offset;
}

std::map<std::string, std::string> SettingsOf(const CheckpointProto& checkpoint) {
  std::map<std::string, std::string> settings;
  for (const SettingProto& setting : checkpoint.setting()) {
    settings[setting.name()] = setting.value();
  }
  return settings;
}

// What happens to the learning rate when the batch of all shards changes.
std::string DescribeRate(const CheckpointProto& checkpoint, int64_t before, int64_t now) {
  std::map<std::string, std::string> settings = SettingsOf(checkpoint);
  const double base = std::strtod(settings["base_learning_rate"].c_str(), nullptr),
               scaled = std::strtod(settings["lr_batch_size"].c_str(), nullptr);
  if (!(scaled > 0)) {
    return MakeString("the base learning rate stays ", base,
                      " (--lr_batch_size would scale it with the batch)");
  }
  return MakeString("the base learning rate changes from ",
                    base * static_cast<double>(before) / scaled, " to ",
                    base * static_cast<double>(now) / scaled, " (--lr_batch_size ", scaled, ")");
}

}  // namespace

ShardLayout LayoutOf(const std::map<std::string, std::string>& settings) {
  return {.num_shards = Number(settings, "num_shards"),
          .num_devices = Number(settings, "num_devices"),
          .batch_size = Number(settings, "batch_size")};
}

ShardLayout LayoutOf(const CheckpointProto& checkpoint) { return LayoutOf(SettingsOf(checkpoint)); }

bool IsLayoutSetting(const std::string& name) {
  return name == "num_shards" || name == "num_devices" || name == "batch_size";
}

std::string LayoutConflict(const ShardLayout& there, const ShardLayout& now,
                           bool batch_may_change) {
  const int64_t batch = there.BatchOfAllShards();
  const bool same_of_shard = now.batch_size == there.batch_size;
  if (now.BatchOfAllShards() == batch || (same_of_shard && batch_may_change)) return "";
  if (there.num_shards == now.num_shards) {
    return MakeString(" batch_size (", there.batch_size, " there, ", now.batch_size, " now)");
  }
  std::string advice = batch % now.num_shards == 0
                           ? MakeString("use --batch_size ", batch / now.num_shards)
                           : MakeString("use a number of shards that divides ", batch);
  advice += same_of_shard ? MakeString(", or --resume auto to go on with ", now.BatchOfAllShards())
                          : MakeString(", or --resume auto with --batch_size ", there.batch_size);
  return MakeString(" batch_size and num_shards (", there.batch_size, " x ", there.num_shards,
                    " there, ", now.batch_size, " x ", now.num_shards,
                    " now; to keep the batch of ", batch, " images of all shards, ", advice, ")");
}

int64_t EpochImages(const CheckpointProto& checkpoint) {
  const int64_t iterations = checkpoint.epoch_iterations_done();
  const int64_t batch = LayoutOf(checkpoint).BatchOfAllShards();
  CAFFE_ENFORCE(iterations >= 0 && iterations < kMaxImages / batch,
                "the checkpoint is damaged: it is after ", iterations, " iterations of an epoch");
  const int64_t images =
      checkpoint.has_epoch_images() ? checkpoint.epoch_images() : iterations * batch;
  CAFFE_ENFORCE(images >= 0 && images < kMaxImages, "the checkpoint is damaged: it is after ",
                images, " images of an epoch");
  return images;
}

int64_t RateOffset(const CheckpointProto& checkpoint, int64_t epoch_size, const ShardLayout& now) {
  const int64_t left = std::max<int64_t>(epoch_size - EpochImages(checkpoint), 0);
  CAFFE_ENFORCE(std::abs(checkpoint.rate_offset()) < kMaxImages,
                "the checkpoint is damaged: its rate_offset is ", checkpoint.rate_offset());
  const auto iterations_until = [&](int64_t batch) {
    return (int64_t{checkpoint.epoch()} + 1) * (epoch_size / batch) - left / batch;
  };
  return checkpoint.rate_offset() + iterations_until(now.BatchOfAllShards()) -
         iterations_until(LayoutOf(checkpoint).BatchOfAllShards());
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
    const size_t of_state = size == 0 ? 0 : found / size;
    replicas += static_cast<double>(of_state);
  }
  std::vector<float> means(size);
  std::transform(sums.begin(), sums.end(), means.begin(),
                 [replicas](double sum) { return static_cast<float>(sum / replicas); });
  return means;
}

ShardStateProto StateInLayout(const CheckpointProto& checkpoint, const ShardLayout& now,
                              size_t statistics) {
  CAFFE_ENFORCE(checkpoint.shard_size() > 0, "the checkpoint has no shards");
  ShardStateProto state;
  const std::vector<float> means = MeanStatistics(checkpoint, statistics);
  for (int64_t replica = 0; replica < now.num_devices; ++replica) {
    state.mutable_computed_param()->Add(means.begin(), means.end());
  }
  if (checkpoint.shard(0).has_data_position()) {
    const int64_t read = RecordsRead(checkpoint);
    state.set_data_position(read / now.num_shards);
    state.set_data_offset(read % now.num_shards);
  }
  return state;
}

std::string DescribeOtherLayout(const CheckpointProto& checkpoint, const ShardLayout& now) {
  const ShardLayout there = LayoutOf(checkpoint);
  const int64_t part = there.batch_size / there.num_devices,
                part_now = now.batch_size / now.num_devices;
  const int64_t batch = there.BatchOfAllShards(), batch_now = now.BatchOfAllShards();
  std::string text = MakeString(
      "The checkpoint is from ", there.num_shards, " shards of ", there.num_devices,
      " replicas, this run has ", now.num_shards, " of ", now.num_devices, ". ",
      checkpoint.shard(0).has_data_position() ? "The same images follow in the same order"
                                              : "Other synthetic images follow",
      ", ", batch_now, " in each iteration");
  if (batch_now == batch) {
    text +=
        ". Results are not the same to the bit: sums over the shards are rounded in another order";
  } else {
    text += MakeString(" instead of ", batch, "; ", DescribeRate(checkpoint, batch, batch_now),
                       ". Results are not the same to the bit: other images share an iteration");
  }
  if (checkpoint.shard(0).computed_param_size() > 0) {
    if (part_now != part) {
      text += MakeString("; batch normalization sees ", part_now, " images at a time instead of ",
                         part);
    }
    text += "; running statistics go on from their means";
  }
  if (LastRandomPosition(checkpoint) > 0) text += "; operators draw other random numbers";
  return text;
}

}  // namespace caffe2

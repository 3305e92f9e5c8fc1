#include "train/shard_speeds.h"

#include <utility>

namespace caffe2 {

void ShardSpeeds::Add(const std::vector<ShardSeconds>& shards) {
  sums_.resize(shards.size());
  for (size_t s = 0; s < shards.size(); ++s) {
    sums_[s].iterations += shards[s].iterations;
    sums_[s].all += shards[s].all;
    sums_[s].input += shards[s].input;
    sums_[s].exchanging += shards[s].exchanging;
  }
}

std::vector<ShardSpeed> ShardSpeeds::Take(int64_t batch_size) {
  const std::vector<ShardSeconds> shards = std::exchange(sums_, {});
  std::vector<ShardSpeed> speeds;
  if (shards.size() == 1) return speeds;
  for (const ShardSeconds& shard : shards) {
    if (!(shard.all > 0)) return {};
    const double images = shard.iterations * static_cast<double>(batch_size);
    speeds.push_back({.images_per_second = images / shard.all,
                      .input_wait = shard.input / shard.all,
                      .exchanging = shard.exchanging / shard.all});
  }
  return speeds;
}

}  // namespace caffe2

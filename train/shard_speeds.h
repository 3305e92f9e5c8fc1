// How each shard spent its time since the last report.
#pragma once

#include <cstdint>
#include <vector>

#include "train/report.h"

namespace caffe2 {

// What one shard has measured in some iterations, in seconds.
struct ShardSeconds {
  double iterations = 0;  // the number of iterations
  double all = 0;         // total
  double input = 0;       // waiting for images
  double exchanging = 0;  // in collective operations
};

// Not synchronised.
class ShardSpeeds {
 public:
  // One entry for each shard; their number must not change between two calls of Take().
  void Add(const std::vector<ShardSeconds>& shards);
  // The speed of each shard, from the seconds added since the last Take(). `batch_size`: images of
  // one shard in an iteration. Empty with one shard, and if a shard has measured no time.
  std::vector<ShardSpeed> Take(int64_t batch_size);

 private:
  std::vector<ShardSeconds> sums_;
};

}  // namespace caffe2

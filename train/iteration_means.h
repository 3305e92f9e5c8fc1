// The means over the iterations since the last report.
#pragma once

#include "train/iteration_exchange.h"
#include "train/report.h"
#include "train/shard_speeds.h"

namespace caffe2 {

// Not synchronised.
class IterationMeans {
 public:
  // The duration of an iteration of this shard.
  void AddSeconds(double seconds) { seconds_ += seconds; }
  // Iterations of all shards, whose durations were added before.
  void Add(const IterationStatus& status);
  // The report over everything added since the last call. Positions in the run (epoch, iteration,
  // total iterations) and the learning rate are not filled in. At least one iteration must have
  // been added. `batch_size` is the number of images of one shard in an iteration, `waited` the
  // seconds that this shard has waited for images since the run began.
  IterationReport Take(int64_t batch_size, int num_shards, double waited);
  // The same without the speeds of shards; goes on with what was added.
  IterationReport Peek(int64_t batch_size, int num_shards, double waited) const;

 private:
  // Sums over iterations.
  int64_t iterations_ = 0;
  double loss_ = 0, accuracy_ = 0, accuracy_top5_ = 0, seconds_ = 0;
  ShardSpeeds speeds_;
  double waited_before_ = 0;  // at the last report
};

}  // namespace caffe2

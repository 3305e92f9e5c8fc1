// How long a run would take, from a few of its iterations.
#pragma once

#include <cstdint>
#include <functional>

#include "train/options.h"

namespace caffe2 {

struct TimeEstimate {
  int64_t measured = 0;          // number of measured iterations
  double iteration_seconds = 0;  // their mean time
  int64_t iterations = 0;        // of a run that starts anew
  double Seconds() const { return iteration_seconds * static_cast<double>(iterations); }
};

// Trains this shard alone on its data and devices. The first iteration, which allocates memory, is
// not measured. After it, measures up to 20 iterations or `max_seconds`, but at least one. Writes
// no file, meets no other shard and does not test, so exchanges between shards, tests and saves are
// not in the estimate. `stop` is as in Trainer; if it ends the run before the second iteration is
// complete, `measured` is 0. Throws like Trainer.
TimeEstimate EstimateTime(const TrainOptions& options, double max_seconds,
                          const std::function<int()>& stop);

}  // namespace caffe2

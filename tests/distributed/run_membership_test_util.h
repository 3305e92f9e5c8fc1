// Options for tests of runs: a short lease, so that silence shows soon.
#pragma once

#include "distributed/run_membership.h"

namespace caffe2::testing {

inline RunOptions Options(int num_shards, int shard_id) {
  RunOptions options;
  options.run_id = "run";
  options.num_shards = num_shards;
  options.shard_id = shard_id;
  options.fingerprint = {{"model", "lenet"}, {"batch_size", "64"}};
  options.join_timeout = milliseconds(20000);
  options.heartbeat = milliseconds(100);
  options.lease = milliseconds(3000);
  options.exit_timeout = milliseconds(10000);
  return options;
}

}  // namespace caffe2::testing

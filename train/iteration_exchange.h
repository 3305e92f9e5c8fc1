// The exchange between the shards after an iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "train/shard_run.h"
#include "train/shard_speeds.h"

namespace caffe2 {

// The result of the exchange between the shards after an iteration, or, with local SGD, after all
// iterations since the last average.
struct IterationStatus {
  int64_t iterations = 0;  // 0: there was no exchange
  // Means over the shards and iterations.
  double loss = 0, accuracy = 0, accuracy_top5 = 0;
  int stop = 0;        // the largest signal of all shards
  int bad_shard = -1;  // the first shard whose loss is NaN or too large; -1: none
  double bad_loss = 0;
  int64_t new_bad_records = 0;       // found by all shards
  std::vector<ShardSeconds> shards;  // since the previous exchange, without this iteration
};

// What one shard sends.
struct ShardIterations {
  // Sums over `iterations` iterations, which is the same number on every shard and at least 1.
  int64_t iterations = 0;
  double loss = 0, accuracy = 0, accuracy_top5 = 0;
  int stop = 0;                 // the signal that asked this shard to stop, or 0
  int64_t new_bad_records = 0;  // since the previous exchange
  ShardSeconds seconds;
};

// Combines what all shards send. A mean loss that is NaN or above `max_loss` makes its shard the
// bad shard. All shards must call it together. Throws like ShardRun::Sum.
IterationStatus ExchangeIterations(const ShardIterations& own, double max_loss, ShardRun* run);

}  // namespace caffe2

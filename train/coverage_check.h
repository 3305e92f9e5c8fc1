// Shows that the shards together read each training record exactly once in each pass.
#pragma once

#include <cstdint>
#include <string>

#include "db/db_reader.h"
#include "db/key_sums.h"
#include "train/shard_run.h"

namespace caffe2 {

// What one pass of all shards over a database of `expected` read, as a line for the log; *right
// tells whether each record was read once.
std::string DescribeCoverage(int64_t pass, const db::KeySums& expected, const db::KeySums& read,
                             bool* right);

// A pass is one epoch of the database. It need not end with an epoch of the training, which is a
// number of whole batches.
class CoverageCheck {
 public:
  // Counts what the net takes from `reader` from now on. Reads all keys of the database, on shard
  // 0. All arguments must outlive this.
  CoverageCheck(db::DBReader* reader, ShardRun* run);

  // Logs, on shard 0, one line for each pass that has ended since the last call, an error if
  // records were missed or read twice. `taken` is the number of records that all shards have
  // trained on since the check was made. All shards must call it together.
  void Report(int64_t taken);

 private:
  db::DBReader* reader_;
  ShardRun* run_;
  db::KeySums expected_;        // on shard 0
  const int64_t taken_before_;  // by all shards
  int64_t next_pass_;
};

}  // namespace caffe2

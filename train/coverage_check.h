// Shows that the shards together read each training record exactly once in each pass.
#pragma once

#include <cstdint>
#include <string>

#include "db/db_reader.h"
#include "db/key_sums.h"
#include "train/shard_run.h"

namespace caffe2 {

// The log line about one pass of all shards over a database. `expected` are the key sums of the
// database, `read` the key sums of the pass, and `bad` the number of its records that could not be
// decoded, which were read but not trained on. Sets *right to true if each record was read exactly
// once, otherwise to false.
std::string DescribeCoverage(int64_t pass, const db::KeySums& expected, const db::KeySums& read,
                             int64_t bad, bool* right);

// A pass is one epoch of the database. It need not end with an epoch of the training, which
// consists of whole batches. If a run resumes within a pass, that pass is not checked.
class CoverageCheck {
 public:
  // From now on counts the keys that the net takes from `reader`. Shard 0 reads all keys of the
  // database. All arguments must outlive this.
  CoverageCheck(db::DBReader* reader, ShardRun* run);

  // Shard 0 logs one line for each pass that has ended since the last call: an error if records
  // were missed or read twice. `taken` is the number of records that all shards together have
  // trained on since this object was made, and `bad` the number of records that are known to be
  // damaged. All shards must call it together.
  void Report(int64_t taken, int64_t bad);

 private:
  db::DBReader* reader_;
  ShardRun* run_;
  db::KeySums expected_;        // on shard 0
  const int64_t taken_before_;  // by all shards
  int64_t next_pass_;
};

}  // namespace caffe2

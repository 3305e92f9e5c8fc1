// Counts the damaged training records of all shards of a run.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "db/db_reader.h"
#include "train/shard_run.h"

namespace caffe2 {

// The shards tell each other which records they could not decode. So a record counts once, however
// many shards read it, and all shards end together when there are too many. Not thread-safe.
class BadRecordCount {
 public:
  // `known`: the keys in the checkpoint that the run resumes from. Throws EnforceNotMet if there
  // are more than `limit`. The pointers must outlive this.
  BadRecordCount(int64_t limit, const std::set<std::string>& known, db::DBReader* reader,
                 ShardRun* run);

  // The number of damaged records that this shard has found since the last call of Share().
  int64_t CountNew();
  // Adds the records that the shards have found. All shards must call it together if CountNew() is
  // not 0 on one of them. If there are more than `limit`, throws like ShardRun::ThrowBlaming,
  // with kBadData. The text names the shard, the record and the database.
  void Share();
  // The keys that all shards know.
  const std::set<std::string>& known() const { return known_; }

 private:
  const int64_t limit_;
  std::set<std::string> known_;
  std::vector<std::string> found_;  // by this shard, not shared yet
  db::DBReader* reader_;
  ShardRun* run_;
};

}  // namespace caffe2

// The records of a database as an endless, sharded, optionally shuffled stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/type_meta.h"
#include "db/db.h"

namespace caffe2::db {

struct Record {
  std::string key;
  std::string value;
  int64_t global_index = 0;  // place in the stream over all shards
};

struct DBReaderOptions {
  int num_shards = 1;
  int shard_id = 0;
  bool shuffle = false;
  uint64_t seed = 0;  // of the shuffle
};

// Records read together, and where they came from.
struct RecordBatch {
  std::vector<Record> records;
  int64_t position_after = 0;  // of the shard, when these records are taken
  int64_t generation = 0;
};

// The stream is one epoch after another, each all N records of the database, in its order or
// shuffled anew by (seed, epoch). Its record g is record g % N of epoch g / N; shard s of S takes
// g = s, s + S, s + 2S, ... So the shards stay disjoint and in step where N is no multiple of S,
// and 4 shards that take 16 records each see the 64 that 1 shard sees. The position is the number
// of records this shard has taken.
//
// A handle: copies share one stream. Thread-safe. Opening checks the whole database once.
class DBReader {
 public:
  // Throws as CreateDB does; IoError for a database without records; EnforceNotMet for a shard_id
  // outside [0, num_shards) and for shuffling a database without random access.
  DBReader(const std::string& db_type, const std::string& source,
           const DBReaderOptions& options = {});
  // Over a database that is open already.
  DBReader(std::unique_ptr<DB> db, const std::string& db_type, const std::string& source,
           const DBReaderOptions& options = {});

  const std::string& db_type() const;
  const std::string& source() const;
  const DBReaderOptions& options() const;
  int64_t NumRecords() const;
  // The key of the next record. Throws EnforceNotMet for a source whose records come once.
  std::string KeyAtPosition();

  // Takes the next n records, at once for good: for tools that read without a net. `batch` is
  // reused: its strings keep their memory.
  void ReadBatch(int n, RecordBatch* batch);

  // Calls visit(key, value) for every record of the database, in its own order, until it returns
  // false. Neither shards nor the position count. Throws as KeyAtPosition.
  using VisitFn = std::function<bool(const std::string& key, const std::string& value)>;
  void Visit(const VisitFn& visit) const;

  // The position up to which records were handed to the net (those read ahead do not count).
  int64_t Committed() const;
  // Continues at `position` >= 0; what was read ahead is void.
  void Restore(int64_t position);
  // Changes whenever what was read ahead has become void.
  int64_t generation() const;

  // Consumers read batches of n > 0 records ahead of their use. Several consumers of one stream
  // (the replicas of a net) are dealt batches in turn, in the order in which they were added,
  // whatever the timing of their threads. They should run equally often: a consumer that falls two
  // batches behind the others loses its turn until it runs again.
  using ConsumerId = int64_t;
  ConsumerId AddConsumer(int n);
  // Gives the turn back; what the consumer read ahead is void.
  void RemoveConsumer(ConsumerId consumer);
  // The next batch of this consumer. A batch that cannot be read (IoError) counts all the same.
  // While a source has yet to write a record, `while_waiting` is called now and then; it may throw
  // to give up. Other calls do not wait for it.
  void Read(ConsumerId consumer, RecordBatch* batch,
            const std::function<void()>& while_waiting = {});
  // Counts the batch as handed to the net, in the order of Read. False if it has become void
  // (Restore, or the turns changed) and must be dropped.
  bool Commit(ConsumerId consumer, const RecordBatch& batch);

  // Time that nets have waited, because batches of this stream were not ready.
  void AddWait(std::chrono::nanoseconds wait) const;
  double WaitedSeconds() const;

  // The same stream?
  friend bool operator==(const DBReader& a, const DBReader& b) = default;

 private:
  class Stream;
  std::shared_ptr<Stream> stream_;
};

}  // namespace caffe2::db

namespace caffe2 {
// Blobs hold readers under Caffe2's name.
CAFFE2_TYPE_NAME(std::unique_ptr<db::DBReader>, "DBReader");
}  // namespace caffe2

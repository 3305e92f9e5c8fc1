// Reads the records of a database as an endless, sharded, optionally shuffled stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "caffe2/core/type_meta.h"
#include "db/db.h"
#include "db/holdout.h"
#include "db/key_sums.h"

namespace caffe2::db {

struct Record {
  std::string key;
  std::string value;
  int64_t global_index = 0;  // index in the stream over all shards
  int64_t index = 0;         // below NumRecords()
};

struct DBReaderOptions {
  int num_shards = 1;
  int shard_id = 0;
  bool shuffle = false;
  uint64_t seed = 0;  // of the shuffle
  Holdout holdout{};  // which records of the database the reader has
};

// Records read together.
struct RecordBatch {
  std::vector<Record> records;
  int64_t position_after = 0;  // the shard's position after these records
  int64_t generation = 0;      // DBReader::generation() when they were read
};

// The stream is one epoch after another. An epoch is all N records of the database (or of the part
// that DBReaderOptions::holdout selects), in its order or shuffled by (seed, epoch). Record g of
// the stream is record g % N of epoch g / N; shard s of S takes g = o + s, o + s + S, o + s + 2S,
// ... So the shards are disjoint and in step even if S does not divide N, and 4 shards that take 16
// records each see the same 64 as 1 shard. The position is the number of records that this shard
// has taken. The offset o is 0, unless the stream goes on after a number of records that S does not
// divide.
//
// A handle: copies share one stream. Thread-safe. Opening checks the whole database once.
class DBReader {
 public:
  // Throws like CreateDB does; IoError for a database without records; EnforceNotMet if shard_id is
  // outside [0, num_shards), if there are more shards than records, for shuffling a database
  // without random access, and as NumHeldOut.
  DBReader(const std::string& db_type, const std::string& source,
           const DBReaderOptions& options = {});
  // Takes a database that is open already.
  DBReader(std::unique_ptr<DB> db, const std::string& db_type, const std::string& source,
           const DBReaderOptions& options = {});

  const std::string& db_type() const;
  const std::string& source() const;
  const DBReaderOptions& options() const;
  int64_t NumRecords() const;
  // The number of records of the database that this reader leaves out (DBReaderOptions::holdout).
  int64_t NumOtherRecords() const;
  // The index in the database of record 0 <= i < NumRecords().
  int64_t IndexInDatabase(int64_t i) const;
  // The key of this shard's next record. Throws EnforceNotMet for a source that gives each record
  // only once.
  std::string KeyAtPosition();

  // Reads and commits the next n > 0 records: for tools that read without a net. Batches read ahead
  // become invalid. Calls of other threads wait meanwhile. `batch` is reused: its strings keep
  // their memory.
  void ReadBatch(int n, RecordBatch* batch);

  // Reads record i of the database (of its part), 0 <= i < NumRecords(). Ignores shards and does
  // not move the position. Throws like KeyAtPosition, EnforceNotMet if i is out of range, and
  // IoError if the record cannot be read.
  void ReadRecord(int64_t i, Record* record) const;

  // Calls visit(key, value) for each of the NumRecords(), in the order of the database, until it
  // returns false. Ignores shards and does not move the position. Throws like KeyAtPosition.
  using VisitFn = std::function<bool(const std::string& key, const std::string& value)>;
  void Visit(const VisitFn& visit) const;

  // The position: the number of records given to the net. Records read ahead do not count.
  int64_t Committed() const;
  int64_t offset() const;  // 0 to num_shards - 1
  // The number of records that all shards have taken together once each has taken as many as this
  // one: the index in the stream at which they continue.
  int64_t CommittedByAll() const;
  // Continues at `position` >= 0 with this offset; batches read ahead become invalid. To continue
  // after n records of all shards together, pass n / num_shards and n % num_shards. Throws
  // EnforceNotMet for a position below 0 or an offset outside [0, num_shards).
  void Restore(int64_t position, int64_t offset = 0);
  // Changes whenever batches read ahead become invalid.
  int64_t generation() const;

  // Consumers read batches of n > 0 records ahead of their use. Several consumers of one stream
  // (the replicas of a net) get batches in turn, in the order in which they were added, however
  // their threads are timed. They should run equally often: a consumer that lags two batches
  // loses its turn until it runs again.
  // Without `contents` a consumer gets only the indices of records: key and value are empty, and
  // the database is not read. If keys are counted (CountKeys), it must set them before Commit.
  using ConsumerId = int64_t;
  ConsumerId AddConsumer(int n, bool contents = true);
  // All batches read ahead become invalid, here and when a consumer is added.
  void RemoveConsumer(ConsumerId consumer);
  // Reads the next batch of this consumer. If it throws IoError, that batch still counts: the next
  // Read continues after it. While Read waits for a source to write a record, it calls
  // `while_waiting` a few times a second; the function may throw to give up. Commit, Restore and
  // Committed do not block meanwhile.
  void Read(ConsumerId consumer, RecordBatch* batch,
            const std::function<void()>& while_waiting = {});
  // Counts the batch as given to the net. Call it in the order of Read. Returns false if the batch
  // is invalid (Restore was called, or the turns changed); the caller drops it.
  bool Commit(ConsumerId consumer, const RecordBatch& batch);

  // From now on counts the keys of the records that are committed, by epoch of the stream.
  void CountKeys();
  // Returns the keys of this epoch that this shard has committed, and forgets them.
  KeySums TakeKeySums(int64_t epoch);

  // Records that could not be decoded, by their keys: a set that all users of this stream share.
  enum class BadRecord { kNew, kKnown, kTooMany };
  // Adds the key to the set (kNew), unless the set already has it (kKnown) or already has `limit`
  // or more other keys (kTooMany).
  BadRecord NoteBadRecord(const std::string& key, int64_t limit);
  // Adds keys that other shards, or the run before a resume, have found. They may exceed any limit.
  void AddBadRecords(const std::vector<std::string>& keys);
  std::set<std::string> BadRecords() const;
  // The size of the set, and the keys that NoteBadRecord has added since the last call.
  int64_t NumBadRecords() const;
  std::vector<std::string> TakeNewBadRecords();

  // The time that nets have waited for batches of this stream.
  void AddWait(std::chrono::nanoseconds wait) const;
  double WaitedSeconds() const;

  // True if both share one stream.
  friend bool operator==(const DBReader& a, const DBReader& b) = default;

 private:
  class Stream;
  std::shared_ptr<Stream> stream_;
};

}  // namespace caffe2::db

namespace caffe2 {
// Caffe2's name for the type of these blobs.
CAFFE2_TYPE_NAME(std::unique_ptr<db::DBReader>, "DBReader");
}  // namespace caffe2

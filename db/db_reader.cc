#include "db/db_reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/random.h"
#include "db/random_seed.h"
#include "db/read_lock.h"

namespace caffe2::db {

class DBReader::Stream {
 public:
  Stream(std::unique_ptr<DB> db, const std::string& db_type, const std::string& source,
         const DBReaderOptions& options)
      : db_type_(db_type), source_(source), options_(options), db_(std::move(db)) {
    CAFFE_ENFORCE(
        options.num_shards >= 1 && options.shard_id >= 0 && options.shard_id < options.num_shards,
        "database ", source, ": shard_id ", options.shard_id,
        " is not in [0, num_shards = ", options.num_shards, ")");
    index_ = db_->NewIndex();
    const int64_t all = index_->NumRecords();
    if (all == 0) ThrowIoError(ExitCode::kBadData, "the database ", source, " is empty");
    ChoosePart(all);
    CAFFE_ENFORCE(options.num_shards <= num_records_, "database ", source, " has ", num_records_,
                  part_.empty()              ? " records"
                  : options.holdout.held_out ? " records that are held out"
                                             : " records that are not held out",
                  ", fewer than the ", options.num_shards, " shards");
    CAFFE_ENFORCE(!options.shuffle || index_->SupportsRandomAccess(), "the database ", source,
                  " (db_type ", db_type, ") can only be read in order, not shuffled");
  }

  const std::string& db_type() const { return db_type_; }
  const std::string& source() const { return source_; }
  const DBReaderOptions& options() const { return options_; }
  int64_t NumRecords() const { return num_records_; }
  int64_t NumOtherRecords() const {
    return part_.empty() ? 0 : index_->NumRecords() - num_records_;
  }
  int64_t IndexInDatabase(int64_t i) const { return part_.empty() ? i : part_.at(i); }

  std::string KeyAtPosition() {
    CheckReadAgain();
    std::lock_guard<std::mutex> lock(mutex_);
    const auto reading = LockReading({});
    Record record;
    ReadRecord(StreamIndex(CommittedLocked()), &record);
    return record.key;
  }

  void ReadBatch(int n, RecordBatch* batch) {
    CAFFE_ENFORCE(n > 0, "the number of records to read must be positive, found ", n);
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t start = CommittedLocked();
    ReadRange(StreamIndex(start), n, {}, batch);
    batch->position_after = start + n;
    Rebase(start + n);
    batch->generation = generation_;
  }

  void ReadRecordOfDatabase(int64_t i, Record* record) {
    CheckReadAgain();
    CAFFE_ENFORCE(i >= 0 && i < num_records_, "record ", i, " of database ", source_,
                  " does not exist: it has ", num_records_, " records");
    const auto reading = LockReading({});
    record->global_index = record->index = i;
    index_->Read(IndexInDatabase(i), &record->key, &record->value);
  }

  void Visit(const VisitFn& visit) {
    CheckReadAgain();
    const auto reading = LockReading({});
    Record record;
    for (int64_t i = 0; i < num_records_; ++i) {
      index_->Read(IndexInDatabase(i), &record.key, &record.value);
      if (!visit(record.key, record.value)) return;
    }
  }

  void CountKeys() {
    std::lock_guard<std::mutex> lock(mutex_);
    counts_keys_ = true;
    key_sums_.clear();
  }

  KeySums TakeKeySums(int64_t epoch) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto taken = key_sums_.extract(epoch);
    return taken.empty() ? KeySums() : taken.mapped();
  }

  void AddWait(std::chrono::nanoseconds wait) { waited_ += wait.count(); }
  double WaitedSeconds() const { return 1e-9 * static_cast<double>(waited_.load()); }

  int64_t Committed() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return CommittedLocked();
  }

  int64_t offset() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return offset_;
  }

  int64_t CommittedByAll() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return StreamIndex(CommittedLocked()) - options_.shard_id;
  }

  void Restore(int64_t position, int64_t offset) {
    // Leaves room, so that the index in the stream does not overflow an int64 later.
    CAFFE_ENFORCE(
        position >= 0 && position < std::numeric_limits<int64_t>::max() / 4 / options_.num_shards,
        "cannot restore the reader of ", source_, " to position ", position);
    CAFFE_ENFORCE(offset >= 0 && offset < options_.num_shards, "cannot restore the reader of ",
                  source_, " with offset ", offset, ": it has ", options_.num_shards, " shards");
    std::lock_guard<std::mutex> lock(mutex_);
    offset_ = offset;
    Rebase(position);
  }

  int64_t generation() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return generation_;
  }

  int64_t AddConsumer(int n, bool contents) {
    CAFFE_ENFORCE(n > 0, "the number of records in a batch must be positive, found ", n);
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t position = CommittedLocked();
    consumers_.push_back({next_id_, n, contents});
    Rebase(position);
    return next_id_++;
  }

  void RemoveConsumer(int64_t id) {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t position = CommittedLocked();
    consumers_.erase(Find(id));
    Rebase(position);
  }

  void Read(int64_t id, const std::function<void()>& while_waiting, RecordBatch* batch) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto self = Find(id);
    if (!self->active) {
      const int64_t boundary = RoundBoundary();
      self->active = true;
      Rebase(boundary);
    }
    int64_t start = base_ + self->batches_read * RoundSize();
    for (auto other = consumers_.begin(); other != self; ++other) {
      if (other->active) start += other->n;
    }
    ++self->batches_read;
    batch->generation = generation_;
    const int n = self->n;
    const bool contents = self->contents;
    batch->position_after = start + n;
    const int64_t first = StreamIndex(start);
    lock.unlock();  // while this thread waits for a source, other threads must go on
    ReadRange(first, n, while_waiting, batch, contents);
  }

  bool Commit(int64_t id, const RecordBatch& batch) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (batch.generation != generation_) return false;
    const auto self = Find(id);
    ++self->batches_committed;
    if (counts_keys_) {
      for (const Record& record : batch.records) {
        key_sums_[record.global_index / num_records_].Add(record.key);
      }
    }
    constexpr int64_t kMaxBatchesBehind = 2;
    const auto behind = [&](const ConsumerState& other) {
      return other.active && self->batches_committed - other.batches_committed >= kMaxBatchesBehind;
    };
    if (std::any_of(consumers_.begin(), consumers_.end(), behind)) {
      const int64_t boundary = RoundBoundary();
      for (ConsumerState& other : consumers_) {
        if (behind(other)) other.active = false;
      }
      Rebase(boundary);
    }
    return true;
  }

  BadRecord NoteBadRecord(const std::string& key, int64_t limit) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (bad_records_.count(key) != 0) return BadRecord::kKnown;
    if (static_cast<int64_t>(bad_records_.size()) >= limit) return BadRecord::kTooMany;
    bad_records_.insert(key);
    new_bad_records_.push_back(key);
    return BadRecord::kNew;
  }

  void AddBadRecords(const std::vector<std::string>& keys) {
    std::lock_guard<std::mutex> lock(mutex_);
    bad_records_.insert(keys.begin(), keys.end());
  }

  std::set<std::string> BadRecords() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return bad_records_;
  }

  int64_t NumBadRecords() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int64_t>(bad_records_.size());
  }

  std::vector<std::string> TakeNewBadRecords() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(new_bad_records_, {});
  }

 private:
  // Sets part_ and num_records_ for a database of so many records.
  void ChoosePart(int64_t all) {
    num_records_ = all;
    if (options_.holdout.share == 0) return;
    CAFFE_ENFORCE(all != RecordIndex::kEndless, "the records of ", source_, " (db_type ", db_type_,
                  ") come only once, so none can be held out");
    part_ = RecordsOfPart(all, options_.holdout);
    num_records_ = static_cast<int64_t>(part_.size());
  }

  struct ConsumerState {
    int64_t id;
    int n;
    bool contents;
    bool active = true;
    int64_t batches_read = 0, batches_committed = 0;  // since base_
  };

  std::vector<ConsumerState>::iterator Find(int64_t id) {
    return std::find_if(consumers_.begin(), consumers_.end(),
                        [id](const ConsumerState& consumer) { return consumer.id == id; });
  }

  int64_t CommittedLocked() const {
    int64_t position = base_;
    for (const ConsumerState& consumer : consumers_) {
      position += consumer.batches_committed * consumer.n;
    }
    return position;
  }

  // The index in the stream of this shard's record at `position`.
  int64_t StreamIndex(int64_t position) const {
    return offset_ + position * options_.num_shards + options_.shard_id;
  }

  // A round is one batch for each active consumer; this is its number of records.
  int64_t RoundSize() const {
    int64_t size = 0;
    for (const ConsumerState& consumer : consumers_) size += consumer.active ? consumer.n : 0;
    return size;
  }

  // The position of the first round from which no consumer has committed a batch.
  int64_t RoundBoundary() const {
    int64_t rounds = 0;
    for (const ConsumerState& consumer : consumers_) {
      rounds = std::max(rounds, consumer.batches_committed);
    }
    return base_ + rounds * RoundSize();
  }

  // Starts the rounds again at `position`.
  void Rebase(int64_t position) {
    base_ = position;
    ++generation_;
    for (ConsumerState& consumer : consumers_) {
      consumer.batches_read = consumer.batches_committed = 0;
    }
  }

  void CheckReadAgain() const {
    CAFFE_ENFORCE(num_records_ != RecordIndex::kEndless, "the records of ", source_, " (db_type ",
                  db_type_, ") can be read only once");
  }

  std::unique_lock<ReadLock> LockReading(const std::function<void()>& while_waiting) {
    read_lock_.Lock(while_waiting);
    return {read_lock_, std::adopt_lock};
  }

  // Reads this shard's record `first` of the stream and the n - 1 after it.
  void ReadRange(int64_t first, int n, const std::function<void()>& while_waiting,
                 RecordBatch* batch, bool contents = true) {
    const auto reading = LockReading(while_waiting);
    index_->SetWhileWaiting(while_waiting);
    batch->records.resize(n);
    for (int i = 0; i < n; ++i) {
      ReadRecord(first + i * options_.num_shards, &batch->records[i], contents);
    }
  }

  // Call it with read_lock_ held.
  void ReadRecord(int64_t g, Record* record, bool contents = true) {
    record->global_index = g;
    record->index = g % num_records_;
    if (options_.shuffle) record->index = Permutation(g / num_records_)[record->index];
    if (contents) {
      index_->Read(IndexInDatabase(record->index), &record->key, &record->value);
    } else {
      record->key.clear();
      record->value.clear();
    }
  }

  // The order of one epoch: Fisher-Yates with our own generator, so that it is the same on every
  // platform. Two are kept, since consumers cross the end of an epoch one after the other.
  const std::vector<int64_t>& Permutation(int64_t epoch) {
    EpochOrder& order = orders_[epoch % 2];
    if (order.epoch != epoch) {
      order.records.resize(num_records_);
      std::iota(order.records.begin(), order.records.end(), int64_t{0});
      RandomGenerator random(MixSeed(options_.seed, epoch));
      for (int64_t i = num_records_ - 1; i > 0; --i) {
        std::swap(order.records[i], order.records[random.UniformInt(i + 1)]);
      }
      order.epoch = epoch;
    }
    return order.records;
  }

  const std::string db_type_, source_;
  const DBReaderOptions options_;
  std::vector<int64_t> part_;  // indices in the database; empty: all
  int64_t num_records_ = 0;

  std::atomic<int64_t> waited_{0};  // ns

  ReadLock read_lock_;  // guards the database; lock it after mutex_
  std::unique_ptr<DB> db_;
  std::unique_ptr<RecordIndex> index_;  // declared after the database that it reads
  struct EpochOrder {
    int64_t epoch = -1;
    std::vector<int64_t> records;
  };
  std::array<EpochOrder, 2> orders_;

  mutable std::mutex mutex_;  // guards all members below
  int64_t offset_ = 0;
  int64_t base_ = 0;  // position at which the rounds began
  int64_t generation_ = 0;
  int64_t next_id_ = 0;
  std::vector<ConsumerState> consumers_;  // in order of id
  std::set<std::string> bad_records_;
  std::vector<std::string> new_bad_records_;
  bool counts_keys_ = false;
  std::map<int64_t, KeySums> key_sums_;  // by epoch
};

DBReader::DBReader(const std::string& db_type, const std::string& source,
                   const DBReaderOptions& options)
    : DBReader(CreateDB(db_type, source, READ), db_type, source, options) {}

DBReader::DBReader(std::unique_ptr<DB> db, const std::string& db_type, const std::string& source,
                   const DBReaderOptions& options)
    : stream_(std::make_shared<Stream>(std::move(db), db_type, source, options)) {}

const std::string& DBReader::db_type() const { return stream_->db_type(); }
const std::string& DBReader::source() const { return stream_->source(); }
const DBReaderOptions& DBReader::options() const { return stream_->options(); }
int64_t DBReader::NumRecords() const { return stream_->NumRecords(); }
std::string DBReader::KeyAtPosition() { return stream_->KeyAtPosition(); }
void DBReader::ReadBatch(int n, RecordBatch* batch) { stream_->ReadBatch(n, batch); }
void DBReader::ReadRecord(int64_t i, Record* record) const {
  stream_->ReadRecordOfDatabase(i, record);
}
void DBReader::Visit(const VisitFn& visit) const { stream_->Visit(visit); }
int64_t DBReader::NumOtherRecords() const { return stream_->NumOtherRecords(); }
int64_t DBReader::IndexInDatabase(int64_t i) const { return stream_->IndexInDatabase(i); }
void DBReader::CountKeys() { stream_->CountKeys(); }
KeySums DBReader::TakeKeySums(int64_t epoch) { return stream_->TakeKeySums(epoch); }
void DBReader::AddWait(std::chrono::nanoseconds wait) const { stream_->AddWait(wait); }
double DBReader::WaitedSeconds() const { return stream_->WaitedSeconds(); }

int64_t DBReader::Committed() const { return stream_->Committed(); }
int64_t DBReader::offset() const { return stream_->offset(); }
int64_t DBReader::CommittedByAll() const { return stream_->CommittedByAll(); }
void DBReader::Restore(int64_t position, int64_t offset) { stream_->Restore(position, offset); }
int64_t DBReader::generation() const { return stream_->generation(); }

DBReader::ConsumerId DBReader::AddConsumer(int n, bool contents) {
  return stream_->AddConsumer(n, contents);
}
void DBReader::RemoveConsumer(ConsumerId consumer) { stream_->RemoveConsumer(consumer); }
void DBReader::Read(ConsumerId consumer, RecordBatch* batch,
                    const std::function<void()>& while_waiting) {
  stream_->Read(consumer, while_waiting, batch);
}
DBReader::BadRecord DBReader::NoteBadRecord(const std::string& key, int64_t limit) {
  return stream_->NoteBadRecord(key, limit);
}
void DBReader::AddBadRecords(const std::vector<std::string>& keys) { stream_->AddBadRecords(keys); }
std::set<std::string> DBReader::BadRecords() const { return stream_->BadRecords(); }
int64_t DBReader::NumBadRecords() const { return stream_->NumBadRecords(); }
std::vector<std::string> DBReader::TakeNewBadRecords() { return stream_->TakeNewBadRecords(); }
bool DBReader::Commit(ConsumerId consumer, const RecordBatch& batch) {
  return stream_->Commit(consumer, batch);
}

}  // namespace caffe2::db

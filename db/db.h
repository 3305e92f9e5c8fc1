// Databases of records (key, value) behind one interface: LMDB, LevelDB and minidb.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "caffe2/core/registry.h"

namespace caffe2::db {

// READ an existing database; WRITE adds to one (made where there is none); NEW makes one.
enum Mode { READ, WRITE, NEW };

// Walks the records of a database in its own order (sorted by key for LMDB and LevelDB, order of
// insertion for minidb). Not synchronised. All members throw IoError where the file is damaged.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool SupportsSeek() const { return false; }
  // To the record with this key, or the first one behind it; not Valid() if there is none. Throws
  // EnforceNotMet unless SupportsSeek().
  virtual void Seek(const std::string& key) = 0;
  virtual void SeekToFirst() = 0;
  virtual void Next() = 0;
  virtual bool Valid() const = 0;
  // Of the current record; the cursor must be Valid().
  virtual std::string key() const = 0;
  virtual std::string value() const = 0;
};

// Adds records. What was not committed when the object goes is dropped.
class Transaction {
 public:
  virtual ~Transaction() = default;
  virtual void Put(const std::string& key, const std::string& value) = 0;
  // Makes the records put so far durable as far as the database can, and goes on with an empty
  // transaction. Throws IoError (disk full, no permission) with the path.
  virtual void Commit() = 0;
};

// Reads any record by its place in the database's order. Not synchronised.
class RecordIndex {
 public:
  // The number of records of a source that gives each once, in its own order and whatever place is
  // asked for, as long as there are some: a queue.
  static constexpr int64_t kEndless = std::numeric_limits<int64_t>::max() / 2;

  virtual ~RecordIndex() = default;
  virtual int64_t NumRecords() const = 0;
  // 0 <= i < NumRecords(). Throws IoError if the record cannot be read any more.
  virtual void Read(int64_t i, std::string* key, std::string* value) = 0;
  // False if only reading in order is fast.
  virtual bool SupportsRandomAccess() const { return true; }
  // What Read calls a few times a second while it waits for a record that is yet to be written; it
  // may throw to give up. Without effect where Read does not wait.
  virtual void SetWhileWaiting(std::function<void()> /*function*/) {}
};

class DB {
 public:
  virtual ~DB() = default;
  // Ends writing: a database made with NEW exists in full after Close() returned. Throws IoError.
  virtual void Close() = 0;
  // At the first record. The database must outlive it.
  virtual std::unique_ptr<Cursor> NewCursor() = 0;
  virtual std::unique_ptr<Transaction> NewTransaction() = 0;
  // Walks the database once. The default keeps all keys in memory and seeks.
  virtual std::unique_ptr<RecordIndex> NewIndex();
};

// Opens `source` as a database of this type: "lmdb", "leveldb", "minidb" (or Caffe2's spellings
// "LMDB", "LevelDB", "MiniDB"). Throws EnforceNotMet for an unknown type, listing the known ones,
// and IoError with the path where the database is missing, damaged or of another type.
std::unique_ptr<DB> CreateDB(const std::string& db_type, const std::string& source, Mode mode);
// True if there is something to open at `source`.
bool DBExists(const std::string& db_type, const std::string& source);
// The type that the files at `source` look like, in lower case; "" if like none.
std::string GuessDBType(const std::string& source);

using DBRegistryType = Registry<std::string, DB, const std::string&, Mode>;
DBRegistryType& DBRegistry();

#define REGISTER_CAFFE2_DB(name, ...)                                                              \
  static ::caffe2::Registerer<std::string, ::caffe2::db::DB, const std::string&,                   \
                              ::caffe2::db::Mode>                                                  \
  CAFFE2_ANONYMOUS(db_registerer_)(                                                                \
      &::caffe2::db::DBRegistry(), #name, [](const std::string& source, ::caffe2::db::Mode mode) { \
        return std::unique_ptr<::caffe2::db::DB>(new __VA_ARGS__(source, mode));                   \
      })

}  // namespace caffe2::db

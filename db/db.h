// Databases of records (key, value) behind one interface: LMDB, LevelDB and minidb.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "caffe2/core/registry.h"

namespace caffe2::db {

// READ opens an existing database. WRITE adds to a database and creates it if there is none. NEW
// creates a database; it throws if there is an LMDB or LevelDB at the path, and replaces a minidb
// file.
enum Mode { READ, WRITE, NEW };

// Walks the records of a database in its own order (sorted by key for LMDB and LevelDB, order of
// insertion for minidb). Not thread-safe. All members throw IoError if the file is damaged.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool SupportsSeek() const { return false; }
  // Moves to the record with this key, or to the first one after it; not Valid() if there is none.
  // Throws EnforceNotMet unless SupportsSeek().
  virtual void Seek(const std::string& key) = 0;
  virtual void SeekToFirst() = 0;
  virtual void Next() = 0;
  virtual bool Valid() const = 0;
  // The current record; the cursor must be Valid().
  virtual std::string key() const = 0;
  virtual std::string value() const = 0;
};

// Adds records. The destructor drops records that were not committed.
class Transaction {
 public:
  virtual ~Transaction() = default;
  virtual void Put(const std::string& key, const std::string& value) = 0;
  // Writes the records put so far (LMDB and LevelDB sync them to the disk) and begins an empty
  // transaction. Throws IoError (disk full, no permission) with the path.
  virtual void Commit() = 0;
};

// Reads any record by its index in the order of the database. Not thread-safe.
class RecordIndex {
 public:
  // NumRecords() of a queue: a source that gives each record once, in its own order. Its Read()
  // ignores `i`.
  static constexpr int64_t kEndless = std::numeric_limits<int64_t>::max() / 2;

  virtual ~RecordIndex() = default;
  virtual int64_t NumRecords() const = 0;
  // 0 <= i < NumRecords(). Throws IoError if the record cannot be read.
  virtual void Read(int64_t i, std::string* key, std::string* value) = 0;
  // False if only reading in order is fast.
  virtual bool SupportsRandomAccess() const { return true; }
  // Read() calls the function a few times a second while it waits for a record that is yet to be
  // written; the function may throw to give up. No effect if Read() does not wait.
  virtual void SetWhileWaiting(std::function<void()> /*function*/) {}
};

class DB {
 public:
  virtual ~DB() = default;
  // Ends writing: a NEW database is complete after Close() has returned. Throws IoError.
  virtual void Close() = 0;
  // A cursor at the first record. The database must outlive it.
  virtual std::unique_ptr<Cursor> NewCursor() = 0;
  virtual std::unique_ptr<Transaction> NewTransaction() = 0;
  // An index of all records. Making one reads the whole database. The default implementation keeps
  // all keys in memory and seeks with a cursor. The database must outlive the index.
  virtual std::unique_ptr<RecordIndex> NewIndex();
};

// Opens the database at path `source`. db_type is "lmdb", "leveldb" or "minidb" (or Caffe2's
// spelling "LMDB", "LevelDB" or "MiniDB"). For reading it may also be a type of data_set.h, or
// "auto": the type that GuessDBType finds. Throws EnforceNotMet, listing the known types, for any
// other db_type, and IoError with the path if the database is missing, damaged or of another type.
std::unique_ptr<DB> CreateDB(const std::string& db_type, const std::string& source, Mode mode);
// True if CreateDB can make databases of this type: lmdb, leveldb, minidb, but no type of
// data_set.h.
bool IsWritableDBType(const std::string& db_type);
// True if a file or directory `source` exists. Throws EnforceNotMet for an unknown type.
bool DBExists(const std::string& db_type, const std::string& source);
// Guesses the database type, in lower case, from the names of the files at `source` and from the
// first bytes of a single file; "" if no type fits.
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

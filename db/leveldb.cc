// LevelDB. The library has no read-only mode: opening locks the database, so only one process at a
// time can use it, and may rewrite its log files.
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>

#include "caffe2/core/exit_code.h"
#include "caffe2/utils/library_versions.h"
#include "caffe2/utils/temporary_file.h"
#include "db/db.h"

namespace caffe2::db {
namespace {

const RegisterLibraryVersion leveldb_version("LevelDB", MakeString(leveldb::kMajorVersion, ".",
                                                                   leveldb::kMinorVersion));

// The library tells a full disk from other errors only by its text.
ExitCode CodeOf(const leveldb::Status& status, bool writes) {
  if (status.IsCorruption()) return ExitCode::kBadData;
  return writes && status.IsIOError() ? ExitCode::kCannotWrite : ExitCode::kIo;
}

void Check(const leveldb::Status& status, bool writes, const char* what,
           const std::string& source) {
  if (status.ok()) return;
  ThrowIoError(CodeOf(status, writes),
               WithoutTemporaryNames(MakeString("cannot ", what, " LevelDB database ", source, ": ",
                                                status.ToString())));
}

leveldb::DB* OpenLevelDB(const std::string& source, Mode mode) {
  leveldb::Options options;
  options.create_if_missing = mode != READ;
  options.error_if_exists = mode == NEW;
  options.paranoid_checks = true;
  options.block_size = 64 << 10;  // as in Caffe2
  options.write_buffer_size = 256 << 20;
  options.max_open_files = 100;
  leveldb::DB* db = nullptr;
  Check(leveldb::DB::Open(options, source, &db), mode != READ, "open", source);
  return db;
}

// The databases that this process reads. The library refuses to open one a second time, so all
// readers of a path share it.
struct LevelDBReaders {
  struct Shared {
    std::unique_ptr<leveldb::DB> db;
    int users = 0;
  };
  std::mutex mutex;
  std::map<std::string, Shared> by_path;

  static LevelDBReaders& Get() {
    static auto* readers = new LevelDBReaders;
    return *readers;
  }

  std::shared_ptr<leveldb::DB> Take(const std::string& source) {
    std::error_code error;
    const auto canonical = std::filesystem::weakly_canonical(source, error);
    const std::string path = error ? source : canonical.string();
    const std::lock_guard<std::mutex> lock(mutex);
    auto shared = by_path.find(path);
    if (shared == by_path.end()) {
      std::unique_ptr<leveldb::DB> opened(OpenLevelDB(source, READ));
      shared = by_path.emplace(path, Shared{std::move(opened)}).first;
    }
    ++shared->second.users;
    return {shared->second.db.get(), [this, path](leveldb::DB*) { Release(path); }};
  }

 private:
  void Release(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto shared = by_path.find(path);
    if (--shared->second.users == 0) by_path.erase(shared);
  }
};

class LevelDBCursor final : public Cursor {
 public:
  LevelDBCursor(leveldb::DB* db, const std::string& source) : source_(source) {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    iterator_.reset(db->NewIterator(options));
    SeekToFirst();
  }
  bool SupportsSeek() const override { return true; }
  void Seek(const std::string& key) override {
    iterator_->Seek(key);
    CheckIterator();
  }
  void SeekToFirst() override {
    iterator_->SeekToFirst();
    CheckIterator();
  }
  void Next() override {
    iterator_->Next();
    CheckIterator();
  }
  bool Valid() const override { return iterator_->Valid(); }
  std::string key() const override { return iterator_->key().ToString(); }
  std::string value() const override { return iterator_->value().ToString(); }

 private:
  // A damaged block ends the iteration just as the last record does; only the status differs.
  void CheckIterator() const { Check(iterator_->status(), false, "read", source_); }

  std::string source_;
  std::unique_ptr<leveldb::Iterator> iterator_;
};

class LevelDBTransaction final : public Transaction {
 public:
  LevelDBTransaction(leveldb::DB* db, const std::string& source) : db_(db), source_(source) {}
  void Put(const std::string& key, const std::string& value) override { batch_.Put(key, value); }
  void Commit() override {
    leveldb::WriteOptions options;
    options.sync = true;
    Check(db_->Write(options, &batch_), true, "write to", source_);
    batch_.Clear();
  }

 private:
  leveldb::DB* db_;
  std::string source_;
  leveldb::WriteBatch batch_;
};

class LevelDB final : public DB {
 public:
  LevelDB(const std::string& source, Mode mode) : source_(source), writable_(mode != READ) {
    std::error_code error;
    if (mode == READ &&
        !std::filesystem::exists(std::filesystem::path(source) / "CURRENT", error)) {
      const std::string guess = GuessDBType(source);
      const bool folder = std::filesystem::is_directory(source, error);
      ThrowIoError(ExitCode::kNoInput, "there is no LevelDB database at ", source,
                   folder ? " (no file CURRENT in it)" : "",
                   guess.empty() ? "" : "; it looks like db_type " + guess);
    }
    if (mode == READ) {
      db_ = LevelDBReaders::Get().Take(source);
    } else {
      db_.reset(OpenLevelDB(source, mode));
    }
  }

  void Close() override { db_.reset(); }
  std::unique_ptr<Cursor> NewCursor() override {
    CAFFE_ENFORCE(db_, "LevelDB database ", source_, " is closed");
    return std::make_unique<LevelDBCursor>(db_.get(), source_);
  }
  std::unique_ptr<Transaction> NewTransaction() override {
    CAFFE_ENFORCE(db_ && writable_, "LevelDB database ", source_, " is not open for writing");
    return std::make_unique<LevelDBTransaction>(db_.get(), source_);
  }

 private:
  std::string source_;
  bool writable_;
  std::shared_ptr<leveldb::DB> db_;
};

REGISTER_CAFFE2_DB(LevelDB, LevelDB);
REGISTER_CAFFE2_DB(leveldb, LevelDB);

}  // namespace
}  // namespace caffe2::db

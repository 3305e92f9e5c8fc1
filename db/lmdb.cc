// LMDB: LmdbFile reads, liblmdb writes.
#include <lmdb.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "caffe2/core/exit_code.h"
#include "caffe2/utils/library_versions.h"
#include "caffe2/utils/temporary_file.h"
#include "db/db.h"
#include "db/lmdb_file.h"

namespace caffe2::db {
namespace {

const RegisterLibraryVersion lmdb_version("LMDB", [] {
  int major = 0, minor = 0, patch = 0;
  mdb_version(&major, &minor, &patch);
  return MakeString(major, ".", minor, ".", patch);
}());

// How large a database may become. It is only address space: as much as in Caffe2 or, where a
// process may not have so much (ulimit -v), less.
constexpr size_t kMapBytes = size_t{1} << 40, kMinMapBytes = size_t{1} << 30;

// The data file of an environment, which is a directory, or a single file (MDB_NOSUBDIR).
std::string DataFile(const std::string& source) {
  std::error_code error;
  if (!std::filesystem::exists(source, error)) {
    ThrowIoError(ExitCode::kNoInput, "there is no LMDB database at ", source);
  }
  if (!std::filesystem::is_directory(source, error)) return source;
  const std::string file = (std::filesystem::path(source) / "data.mdb").string();
  if (std::filesystem::exists(file, error)) return file;
  const std::string guess = GuessDBType(source);
  ThrowIoError(ExitCode::kNoInput, "there is no LMDB database at ", source, " (no data.mdb in it)",
               guess.empty() ? "" : "; it looks like db_type " + guess);
}

class LmdbCursor final : public Cursor {
 public:
  explicit LmdbCursor(const std::string& file) : file_(file) { SeekToFirst(); }
  bool SupportsSeek() const override { return true; }
  void Seek(const std::string& key) override { MoveTo(file_.LowerBound(key)); }
  void SeekToFirst() override { MoveTo(0); }
  void Next() override { MoveTo(at_ + 1); }
  bool Valid() const override { return at_ < file_.NumRecords(); }
  std::string key() const override { return key_; }
  std::string value() const override { return value_; }

 private:
  void MoveTo(int64_t i) {
    at_ = i;
    if (Valid()) file_.Read(i, &key_, &value_);
  }

  LmdbFile file_;
  int64_t at_ = 0;
  std::string key_, value_;
};

// An environment opened for writing.
class LmdbWriter {
 public:
  explicit LmdbWriter(const std::string& source) : source_(source), write_guard_(source) {
    size_t bytes = kMapBytes;
    int status = Open(bytes);
    while (status == ENOMEM && bytes > kMinMapBytes) status = Open(bytes /= 4);
    Check(status, "open");
    if (bytes < kMapBytes) {
      LOG(WARNING) << "LMDB database " << WithoutTemporaryNames(source) << " can grow to "
                   << (bytes >> 30)
                   << " GiB: this process may not have more address space (ulimit -v)";
    }
  }
  ~LmdbWriter() { mdb_env_close(env_); }
  LmdbWriter(const LmdbWriter&) = delete;
  LmdbWriter& operator=(const LmdbWriter&) = delete;

  // A transaction, which must be ended with EndTransaction after its commit or abort. Throws if
  // there is one: LMDB would wait for its end, and the thread that could end it may be this one.
  MDB_txn* BeginTransaction() {
    CAFFE_ENFORCE(!has_transaction_.exchange(true), "another transaction of LMDB database ",
                  WithoutTemporaryNames(source_),
                  " has records that are not committed: commit it before you put records into this "
                  "one");
    MDB_txn* txn = nullptr;
    const int status = mdb_txn_begin(env_, nullptr, 0, &txn);
    if (status != MDB_SUCCESS) EndTransaction();
    Check(status, "begin a transaction in");
    return txn;
  }
  void EndTransaction() { has_transaction_ = false; }
  void Check(int status, const char* what) const {
    if (status == MDB_SUCCESS) return;
    // LMDB returns EIO for a write that was cut short.
    ThrowIoError(ExitCode::kCannotWrite, "cannot ", what, " LMDB database ",
                 WithoutTemporaryNames(source_), ": ", mdb_strerror(status),
                 status == EIO ? " (is the disk full?)" : "");
  }

 private:
  // Returns LMDB's error. The environment exists only if there is none.
  int Open(size_t map_bytes) {
    Check(mdb_env_create(&env_), "create");
    int status = mdb_env_set_mapsize(env_, map_bytes);
    if (status == MDB_SUCCESS) status = mdb_env_open(env_, source_.c_str(), 0, 0664);
    if (status != MDB_SUCCESS) mdb_env_close(std::exchange(env_, nullptr));
    return status;
  }

  std::string source_;
  LmdbWriteGuard write_guard_;  // begins before the environment, and ends after it
  MDB_env* env_ = nullptr;
  std::atomic<bool> has_transaction_{false};
};

class LmdbTransaction final : public Transaction {
 public:
  explicit LmdbTransaction(LmdbWriter* writer) : writer_(writer) {}
  ~LmdbTransaction() override { Abort(); }

  void Put(const std::string& key, const std::string& value) override {
    if (!txn_) Begin();
    MDB_val k{key.size(), const_cast<char*>(key.data())};
    MDB_val v{value.size(), const_cast<char*>(value.data())};
    writer_->Check(mdb_put(txn_, dbi_, &k, &v, 0), "write to");
  }

  void Commit() override {
    if (!txn_) return;
    MDB_txn* txn = txn_;
    txn_ = nullptr;  // freed by the commit, whatever it returns
    const int status = mdb_txn_commit(txn);
    writer_->EndTransaction();
    writer_->Check(status, "commit to");
  }

 private:
  void Begin() {
    txn_ = writer_->BeginTransaction();
    const int status = mdb_dbi_open(txn_, nullptr, 0, &dbi_);
    if (status != MDB_SUCCESS) Abort();
    writer_->Check(status, "open");
  }
  void Abort() {
    if (!txn_) return;
    mdb_txn_abort(std::exchange(txn_, nullptr));
    writer_->EndTransaction();
  }

  LmdbWriter* writer_;
  MDB_txn* txn_ = nullptr;
  MDB_dbi dbi_ = 0;
};

class Lmdb final : public DB {
 public:
  Lmdb(const std::string& source, Mode mode) : source_(source) {
    if (mode == READ) {
      DataFile(source);  // throws if there is none
      return;
    }
    if (mkdir(source.c_str(), 0755) != 0 && (errno != EEXIST || mode == NEW)) {
      ThrowIoError(ExitCode::kCannotWrite, "cannot make the directory of LMDB database ",
                   WithoutTemporaryNames(source), ": ", ErrnoText(errno));
    }
    writer_ = std::make_unique<LmdbWriter>(source);
  }

  void Close() override { writer_.reset(); }
  // A cursor or an index sees the records that were committed when it was made.
  std::unique_ptr<Cursor> NewCursor() override {
    return std::make_unique<LmdbCursor>(DataFile(source_));
  }
  std::unique_ptr<RecordIndex> NewIndex() override {
    return std::make_unique<LmdbFile>(DataFile(source_));
  }
  std::unique_ptr<Transaction> NewTransaction() override {
    CAFFE_ENFORCE(writer_, "LMDB database ", source_, " is not open for writing");
    return std::make_unique<LmdbTransaction>(writer_.get());
  }

 private:
  std::string source_;
  std::unique_ptr<LmdbWriter> writer_;
};

REGISTER_CAFFE2_DB(LMDB, Lmdb);
REGISTER_CAFFE2_DB(lmdb, Lmdb);

}  // namespace
}  // namespace caffe2::db

// Keeps writers of an LMDB from reusing the pages that this process reads.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

struct MDB_env;
struct MDB_txn;

namespace caffe2::db {

// A slot in the reader table in the lock file of an LMDB (see "Reader Lock Table" in lmdb.h), taken
// by a read transaction of liblmdb. While it is held, no writer of any process on this machine
// overwrites a page of the database as it was when the slot was taken, or of any later state. The
// file grows instead. Thread-safe.
class LmdbSnapshot {
 public:
  // `data_file` must have two intact meta pages: liblmdb trusts them. Callers in one process share
  // a slot. Returns null
  //  - silently, if there is no lock file (there has been no writer), if it is on read-only media,
  //    or if this process itself writes the database;
  //  - with a warning, once for each file, if it cannot take a slot: the lock file is not writable,
  //    all slots are taken, or the file system has no locks.
  static std::shared_ptr<const LmdbSnapshot> Take(const std::string& data_file);
  ~LmdbSnapshot() { Close(); }
  LmdbSnapshot(const LmdbSnapshot&) = delete;
  LmdbSnapshot& operator=(const LmdbSnapshot&) = delete;

  // False once this process has opened the database for writing.
  bool held() const { return held_; }

 private:
  friend class LmdbWriteGuard;
  LmdbSnapshot() = default;
  // Throws IoError with the cause.
  void Open(const std::string& data_file);
  void Close();

  static void Release(const std::string& name, const LmdbSnapshot* used);

  std::atomic<bool> held_{false};
  int users_ = 0;
  const pid_t pid_ = getpid();
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
};

// Exists while this process writes the database: one process must not open it twice in liblmdb,
// because closing one of the two gives up the locks of both (fcntl).
class LmdbWriteGuard {
 public:
  // `source` is the directory of the database, and need not exist.
  explicit LmdbWriteGuard(const std::string& source);
  ~LmdbWriteGuard();
  LmdbWriteGuard(const LmdbWriteGuard&) = delete;
  LmdbWriteGuard& operator=(const LmdbWriteGuard&) = delete;

 private:
  const std::string name_;
};

// The lock file of a data file.
std::string LmdbLockFile(const std::string& data_file);
// "; opened by pid 17 (make_mnist_db)": the other processes of this machine that have the database
// open in liblmdb, as far as this process may see them; "" if there are none.
std::string OtherLmdbUsers(const std::string& data_file);

}  // namespace caffe2::db

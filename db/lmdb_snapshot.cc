#include "db/lmdb_snapshot.h"

#include <lmdb.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "caffe2/core/logging.h"
#include "db/random_access_file.h"

namespace caffe2::db {
namespace {

constexpr char kDataName[] = "data.mdb";

// What this process has open, by the canonical name of the data file.
struct OpenDatabases {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<LmdbSnapshot>> read;
  std::map<std::string, int> written;  // how often
  std::set<std::string> warned;
};

OpenDatabases& Databases() {
  static auto* databases = new OpenDatabases;
  return *databases;
}

std::string CanonicalName(const std::string& file) {
  std::error_code error;
  const auto name = std::filesystem::weakly_canonical(file, error);
  return error ? file : name.string();
}

void Check(int status) {
  if (status != MDB_SUCCESS) throw IoError(mdb_strerror(status));
}

std::string NameOfProcess(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? "" : " (" + name + ")";
}

}  // namespace

std::string LmdbLockFile(const std::string& data_file) {
  const std::filesystem::path path(data_file);
  if (path.filename() == kDataName) return (path.parent_path() / "lock.mdb").string();
  return data_file + "-lock";
}

std::shared_ptr<const LmdbSnapshot> LmdbSnapshot::Take(const std::string& data_file) {
  const std::string lock = LmdbLockFile(data_file);
  if (access(lock.c_str(), F_OK) != 0) return nullptr;
  if (access(lock.c_str(), W_OK) != 0 && errno == EROFS) return nullptr;
  OpenDatabases& databases = Databases();
  const std::lock_guard<std::mutex> guard(databases.mutex);
  const std::string name = CanonicalName(data_file);
  if (databases.written.count(name) != 0) return nullptr;
  std::unique_ptr<LmdbSnapshot>& snapshot = databases.read[name];
  // A child of a fork() must leave what its parent opened alone.
  if (snapshot && snapshot->pid_ != getpid()) static_cast<void>(snapshot.release());
  if (!snapshot) {
    auto opened = std::unique_ptr<LmdbSnapshot>(new LmdbSnapshot);
    try {
      opened->Open(data_file);
    } catch (const IoError& error) {
      databases.read.erase(name);
      if (databases.warned.insert(name).second) {
        LOG(WARNING) << "LMDB database " << data_file << ": no slot in its reader table ("
                     << error.what() << "); if another process writes to it, reading will fail";
      }
      return nullptr;
    }
    snapshot = std::move(opened);
  }
  ++snapshot->users_;
  return {snapshot.get(), [name](const LmdbSnapshot* used) { Release(name, used); }};
}

void LmdbSnapshot::Release(const std::string& name, const LmdbSnapshot* used) {
  OpenDatabases& databases = Databases();
  const std::lock_guard<std::mutex> guard(databases.mutex);
  const auto found = databases.read.find(name);
  if (found == databases.read.end() || found->second.get() != used) return;  // the parent's
  if (--found->second->users_ == 0) databases.read.erase(found);
}

void LmdbSnapshot::Open(const std::string& data_file) {
  // liblmdb would create the lock file if it vanished in this moment; it does no harm.
  if (access(LmdbLockFile(data_file).c_str(), W_OK) != 0) throw IoError(ErrnoText(errno));
  const std::filesystem::path path(data_file);
  const bool in_directory = path.filename() == kDataName;
  const std::string source = in_directory ? path.parent_path().string() : data_file;
  try {
    Check(mdb_env_create(&env_));
    const unsigned flags = MDB_RDONLY | MDB_NOTLS | (in_directory ? 0 : MDB_NOSUBDIR);
    Check(mdb_env_open(env_, source.empty() ? "." : source.c_str(), flags, 0664));
    int dead = 0;
    mdb_reader_check(env_, &dead);  // frees the slots of processes that were killed
    Check(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn_));
  } catch (...) {
    Close();
    throw;
  }
  held_ = true;
}

void LmdbSnapshot::Close() {
  held_ = false;
  if (pid_ != getpid()) return;
  if (txn_) mdb_txn_abort(txn_);
  if (env_) mdb_env_close(env_);
  txn_ = nullptr;
  env_ = nullptr;
}

LmdbWriteGuard::LmdbWriteGuard(const std::string& source)
    : name_(CanonicalName((std::filesystem::path(source) / kDataName).string())) {
  OpenDatabases& databases = Databases();
  const std::lock_guard<std::mutex> guard(databases.mutex);
  ++databases.written[name_];
  const auto found = databases.read.find(name_);
  if (found != databases.read.end()) found->second->Close();
}

LmdbWriteGuard::~LmdbWriteGuard() {
  OpenDatabases& databases = Databases();
  const std::lock_guard<std::mutex> guard(databases.mutex);
  if (--databases.written[name_] == 0) databases.written.erase(name_);
}

std::string OtherLmdbUsers(const std::string& data_file) {
  struct stat status;
  if (stat(LmdbLockFile(data_file).c_str(), &status) != 0) return "";
  std::ostringstream wanted;
  wanted << std::hex;
  for (const unsigned part : {major(status.st_dev), minor(status.st_dev)}) {
    wanted << (part < 16 ? "0" : "") << part << ":";
  }
  wanted << std::dec << status.st_ino;
  // "1: POSIX  ADVISORY  READ 17 08:01:131 0 0"
  std::ifstream locks("/proc/locks");
  std::set<std::string> pids;
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, type, kind, access, pid, file;
    if (!(words >> number >> type >> kind >> access >> pid >> file) || file != wanted.str()) {
      continue;
    }
    if (pid != std::to_string(getpid())) pids.insert(pid);
  }
  std::string text;
  for (const std::string& pid : pids) {
    text += (text.empty() ? "; opened by pid " : ", pid ") + pid + NameOfProcess(pid);
  }
  return text;
}

}  // namespace caffe2::db

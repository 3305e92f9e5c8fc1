#include "train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/utils/temporary_file.h"
#include "distributed/host.h"
#include "distributed/run_membership.h"
#include "distributed/run_record.h"

namespace caffe2 {
namespace {

namespace fs = std::filesystem;

constexpr int kTries = 20;  // while another process takes the lock or leaves it
constexpr std::chrono::milliseconds kPause{50};

[[noreturn]] void Fail(const std::string& path) {
  const int error = errno;
  ThrowIoError(WriteErrorCode(error), "cannot lock ", path, ": ", WriteProblem(path, error));
}

// Returns false if another process has the lock.
bool Lock(int fd, const std::string& path) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  if (errno != ENOLCK && errno != EOPNOTSUPP && errno != ENOSYS) Fail(path);
  LOG(WARNING) << "cannot lock " << path << " (" << std::strerror(errno)
               << "): nothing keeps a second run from writing the same files";
  return true;
}

// True if the open file still has its name: another process may have replaced or removed it.
bool HasName(int fd, const std::string& path) {
  struct stat open_file, named;
  return fstat(fd, &open_file) == 0 && lstat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The contents of an open file of at most some thousand bytes.
std::string ReadText(int fd) {
  std::string text(4096, '\0');
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

bool Write(int fd, const std::string& text) {
  return pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

std::string FieldOf(const RunRecord& record, const std::string& name) {
  const auto found = record.find(name);
  return found == record.end() ? "" : found->second;
}

int64_t NumberOf(const RunRecord& record, const std::string& name) {
  return std::strtoll(FieldOf(record, name).c_str(), nullptr, 10);
}

// "run a, generation 2 (host b, pid 17)".
std::string Describe(const std::string& text) {
  const auto record = ParseRecord(text);
  if (!record || record->count("pid") == 0) return "an unknown process";
  const std::string run_id = FieldOf(*record, "run_id");
  return MakeString(run_id.empty() ? "a run" : "run " + run_id, ", generation ",
                    FieldOf(*record, "generation"), " (host ", FieldOf(*record, "host"), ", pid ",
                    FieldOf(*record, "pid"), ")");
}

bool Supersedes(const RunIdentity& identity, const std::string& text) {
  const auto record = ParseRecord(text);
  if (!record || identity.run_id.empty()) return false;
  return FieldOf(*record, "run_id") == identity.run_id &&
         FieldOf(*record, "token") == identity.token &&
         std::pair<int64_t, int64_t>(identity.generation, identity.writer) >
             std::pair(NumberOf(*record, "generation"), NumberOf(*record, "writer"));
}

// Removes the temporary files beside `path` that an earlier owner may be writing.
void RemoveTemporaries(const std::string& path, const std::string& owner) {
  const auto record = ParseRecord(owner);
  if (!record) return;
  const std::string pid_scope = FieldOf(*record, "pid_scope");
  const int64_t pid = NumberOf(*record, "pid");
  const fs::path directory = fs::path(path).parent_path();
  std::error_code error;  // a file that is gone is well
  for (const auto& entry : fs::directory_iterator(directory.empty() ? "." : directory, error)) {
    if (IsTemporaryOf(entry.path().filename().string(), pid_scope, pid)) {
      fs::remove_all(entry.path(), error);
    }
  }
}

}  // namespace

RunLock::RunLock(const std::string& path, const RunIdentity& identity)
    : path_(path), lock_path_(path + ".lock") {
  const ProcessId self = ProcessId::Self();
  record_ = FormatRecord({{"run_id", identity.run_id},
                          {"generation", std::to_string(identity.generation)},
                          {"token", identity.token},
                          {"writer", std::to_string(identity.writer)},
                          {"host", self.host},
                          {"pid", std::to_string(self.pid)},
                          {"pid_scope", PidScope()},
                          {"start_time", std::to_string(self.start_time)}});
  for (int i = 0; i < kTries; ++i) {
    if (TryToTake(identity)) return;
    std::this_thread::sleep_for(kPause);
  }
  throw RunConflict(
      ExitCode::kNotPermitted,
      MakeString(Describe(ReadText(lock_path_)), " writes ", path,
                 "; give this run another path, or end that run (lock file ", lock_path_, ")"));
}

bool RunLock::TryToTake(const RunIdentity& identity) {
  // A link could lead to a file that is not ours to write.
  const OwnedFd old(open(lock_path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0664));
  if (old.get() < 0) {
    const int error = errno;
    std::error_code unknown;
    if (fs::is_symlink(lock_path_, unknown)) {
      ThrowIoError(ExitCode::kNotPermitted, "cannot lock ", lock_path_,
                   ": it is a link; remove it");
    }
    errno = error;
    Fail(lock_path_);
  }
  const bool free = Lock(old.get(), lock_path_);
  if (!HasName(old.get(), lock_path_)) return false;
  const std::string owner = ReadText(lock_path_);
  if (!free && !Supersedes(identity, owner)) return false;
  if (!MakeLockFile(std::rename)) Fail(lock_path_);
  if (!free) LOG(WARNING) << "took " << path_ << " over from " << Describe(owner);
  // The earlier owner still has its file open, and finds there who took it over, also when the new
  // file is gone.
  if (ftruncate(old.get(), 0) != 0 || !Write(old.get(), record_)) Fail(lock_path_);
  RemoveTemporaries(path_, owner);
  return true;
}

// Gives the new file its name with `publish`, which std::rename and link are. It is locked before,
// so that nobody sees it half-written or without its lock. Returns false, with errno, if that
// fails.
bool RunLock::MakeLockFile(int (*publish)(const char* from, const char* to)) const {
  const std::string temporary = TemporaryPath(lock_path_);
  OwnedFd fresh(CreateNewFile(temporary, 0664));
  const bool made = fresh.get() >= 0 && Lock(fresh.get(), lock_path_) &&
                    Write(fresh.get(), record_) &&
                    publish(temporary.c_str(), lock_path_.c_str()) == 0;
  const int error = errno;
  unlink(temporary.c_str());  // it is still there after a link or an error
  errno = error;
  if (made) file_ = std::move(fresh);
  return made;
}

RunLock::~RunLock() {
  if (ReadText(lock_path_) == record_) unlink(lock_path_.c_str());
}

void RunLock::Check() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::string owner = ReadText(lock_path_);
  if (owner == record_) return;
  // A file that is there and cannot be read (no file descriptor is left, a server does not answer)
  // tells nothing: this save fails, the next one may work.
  if (owner.empty() && (access(lock_path_.c_str(), F_OK) == 0 || errno != ENOENT)) {
    ThrowIoError(ExitCode::kIo, "cannot read ", lock_path_, ", which tells who may write ", path_);
  }
  if (owner.empty()) owner = ReadText(file_.get());
  // Nobody took it over: the file was removed by hand.
  if (owner == record_ && MakeLockFile(link)) {
    LOG(WARNING) << lock_path_ << " was removed while this run writes " << path_
                 << ": it is there again; leave it to the run";
    return;
  }
  throw Superseded(MakeString("this process must not write ", path_, " any more: ",
                              owner == record_ ? "another process makes its lock file now"
                                               : Describe(owner) + " has taken it over"));
}

}  // namespace caffe2

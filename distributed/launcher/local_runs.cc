#include "distributed/launcher/local_runs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "distributed/host.h"
#include "distributed/run_record.h"

namespace caffe2 {
namespace {

constexpr size_t kMaxBytes = 4096;  // of a file
constexpr char kSuffix[] = ".run";

std::string Directory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  // Under su and sudo the variable may name the directory of another user.
  struct stat status = {};
  if (runtime != nullptr && *runtime == '/' && stat(runtime, &status) == 0 &&
      S_ISDIR(status.st_mode) && status.st_uid == geteuid()) {
    return MakeString(runtime, "/doppio");
  }
  return MakeString("/tmp/doppio-", geteuid());
}

// Containers that share a directory may have launchers with the same pid.
std::string FileName() {
  std::string scope = ProcessId::Self().pid_namespace;
  scope.erase(std::remove_if(scope.begin(), scope.end(),
                             [](unsigned char c) { return std::isdigit(c) == 0; }),
              scope.end());
  return MakeString(scope, ".", getpid(), kSuffix);
}

// True if nobody but this user could have put something there.
bool IsOwn(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

bool IsOwnDirectory(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && IsOwn(status);
}

std::string TextOf(const LocalRun& run) {
  return FormatRecord({{"run_id", run.run_id},
                       {"host", run.redis.host},
                       {"port", std::to_string(run.redis.port)},
                       {"password", run.redis.password},
                       {"launcher", MemberRecord{.process = ProcessId::Self()}.Format()}});
}

// The text of a file of this user.
std::optional<std::string> ReadOwn(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat status = {};
  std::string text(kMaxBytes, '\0');
  ssize_t size = -1;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && IsOwn(status)) {
    size = read(fd, text.data(), text.size());
  }
  close(fd);
  if (size < 0) return std::nullopt;
  text.resize(static_cast<size_t>(size));
  return text;
}

// The run of a file; nullopt, and the file is gone, if its launcher has ended.
std::optional<LocalRun> ReadRun(const std::string& path) {
  const std::optional<std::string> text = ReadOwn(path);
  if (!text) return std::nullopt;
  RunRecord record = ParseRecord(*text).value_or(RunRecord());
  const auto launcher = MemberRecord::Parse(record["launcher"]);
  if (!launcher || !launcher->process.on_this_host()) return std::nullopt;
  if (!launcher->process.IsAlive()) {
    unlink(path.c_str());
    return std::nullopt;
  }
  LocalRun run;
  run.run_id = record["run_id"];
  run.redis.host = record["host"];
  run.redis.port = std::atoi(record["port"].c_str());
  run.redis.password = record["password"];
  return run;
}

[[noreturn]] void ThrowErrno(const std::string& what) {
  ThrowIoError(ExitCode::kCannotWrite, what, ": ", std::strerror(errno));
}

// Returns the path of the new file. Throws IoError.
std::string WriteRun(const LocalRun& run) {
  const std::string directory = Directory();
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    ThrowErrno("cannot make " + directory);
  }
  if (!IsOwnDirectory(directory)) {
    ThrowIoError(ExitCode::kNotPermitted, directory,
                 " is not a directory that only this user can read and write");
  }
  const std::string path = directory + "/" + FileName();
  unlink(path.c_str());  // of an earlier process with this number
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) ThrowErrno("cannot write " + path);
  const std::string text = TextOf(run);
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(fd) != 0 || !written) {
    unlink(path.c_str());
    ThrowErrno("cannot write " + path);
  }
  return path;
}

}  // namespace

LocalRunFile::LocalRunFile(const LocalRun& run) {
  try {
    path_ = WriteRun(run);
  } catch (const IoError& error) {
    LOG(WARNING) << "doppio top cannot find this run without --store: " << error.what();
  }
}

LocalRunFile::~LocalRunFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::vector<LocalRun> FindLocalRuns() {
  std::vector<LocalRun> runs;
  const std::string directory = Directory();
  if (!IsOwnDirectory(directory)) return runs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != kSuffix) continue;
    if (auto run = ReadRun(entry.path())) runs.push_back(std::move(*run));
  }
  std::sort(runs.begin(), runs.end(),
            [](const LocalRun& a, const LocalRun& b) { return a.run_id < b.run_id; });
  return runs;
}

}  // namespace caffe2

#include "caffe2/utils/temporary_file.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace caffe2 {
namespace fs = std::filesystem;

bool IsOfDeadProcess(const std::string& name, const std::string& prefix) {
  if (name.rfind(prefix, 0) != 0) return false;
  const long pid = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
  return pid > 0 && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

namespace {

std::string EndingOf(const std::string& host) { return ".tmp." + host + "."; }

}  // namespace

std::string TemporarySuffix(const std::string& host, int64_t pid) {
  return EndingOf(host) + std::to_string(pid);
}

std::string TemporaryPath(const std::string& path) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string prefix = fs::path(path).filename().string() + EndingOf(host);
  const fs::path directory = fs::path(path).parent_path();
  // Errors are ignored: writing to the folder will report them.
  std::error_code error;
  std::vector<fs::path> dead;
  for (fs::directory_iterator it(directory.empty() ? "." : directory, error), end;
       !error && it != end; it.increment(error)) {
    if (IsOfDeadProcess(it->path().filename().string(), prefix)) dead.push_back(it->path());
  }
  for (const fs::path& found : dead) fs::remove_all(found, error);
  return path + TemporarySuffix(host, getpid());
}

}  // namespace caffe2

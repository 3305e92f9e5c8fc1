#include "caffe2/utils/temporary_file.h"

#include <signal.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace caffe2 {
namespace fs = std::filesystem;

std::string PidScope() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code unknown;  // on an error the name is empty
  std::string names =
      fs::read_symlink("/proc/self/ns/pid", unknown).string();  // "pid:[4026531836]"
  std::erase_if(names, [](unsigned char c) { return std::isdigit(c) == 0; });
  return std::string(host) + "." + boot.substr(0, 8) + "." + names;
}

bool IsOfDeadProcess(const std::string& name, const std::string& prefix) {
  if (name.rfind(prefix, 0) != 0) return false;
  const long pid = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
  return pid > 0 && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

namespace {

std::string EndingOf(const std::string& pid_scope) { return ".tmp." + pid_scope + "."; }

}  // namespace

std::string TemporarySuffix(const std::string& pid_scope, int64_t pid) {
  return EndingOf(pid_scope) + std::to_string(pid);
}

std::string TemporaryPath(const std::string& path) {
  const std::string pid_scope = PidScope();
  const std::string prefix = fs::path(path).filename().string() + EndingOf(pid_scope);
  const fs::path directory = fs::path(path).parent_path();
  // Errors are ignored: writing to the folder will report them.
  std::error_code error;
  std::vector<fs::path> dead;
  for (fs::directory_iterator it(directory.empty() ? "." : directory, error), end;
       !error && it != end; it.increment(error)) {
    if (IsOfDeadProcess(it->path().filename().string(), prefix)) dead.push_back(it->path());
  }
  for (const fs::path& found : dead) fs::remove_all(found, error);
  return path + TemporarySuffix(pid_scope, getpid());
}

std::string WriteProblem(const std::string& path, int error) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code unknown;
  if (error == ENOENT && !folder.empty() && !fs::exists(folder, unknown)) {
    return "there is no folder " + folder.string();
  }
  return std::strerror(error);
}

}  // namespace caffe2

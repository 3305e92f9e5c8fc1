#include "caffe2/utils/temporary_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
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

constexpr size_t kRandomDigits = 16;

std::string EndingOf(const std::string& pid_scope) { return ".tmp." + pid_scope + "."; }

std::string RandomDigits() {
  char digits[kRandomDigits / 2 + 1];
  std::snprintf(digits, sizeof digits, "%08x", std::random_device()());
  return digits;
}

// What the names of this process have in common: ".tmp.<PidScope()>.<pid>.<8 digits>". The digits
// tell the names from the ones of an earlier process with the same id, as in a restarted container.
std::string OwnEnding(const std::string& pid_scope) {
  static const std::string digits = RandomDigits();
  return EndingOf(pid_scope) + std::to_string(getpid()) + "." + digits;
}

}  // namespace

bool IsTemporaryOf(const std::string& name, const std::string& pid_scope, int64_t pid) {
  return name.find(EndingOf(pid_scope) + std::to_string(pid) + ".") != std::string::npos;
}

std::string TemporaryPath(const std::string& path) {
  const std::string pid_scope = PidScope();
  const std::string file = fs::path(path).filename().string(), prefix = file + EndingOf(pid_scope),
                    own = file + OwnEnding(pid_scope),
                    of_own_id = prefix + std::to_string(getpid()) + ".";
  const fs::path directory = fs::path(path).parent_path();
  // Errors are ignored: writing to the folder will report them.
  std::error_code error;
  std::vector<fs::path> dead;
  for (fs::directory_iterator it(directory.empty() ? "." : directory, error), end;
       !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool of_earlier = name.starts_with(of_own_id) && !name.starts_with(own);
    if (of_earlier || IsOfDeadProcess(name, prefix)) dead.push_back(it->path());
  }
  for (const fs::path& found : dead) fs::remove_all(found, error);
  return path + OwnEnding(pid_scope) + RandomDigits();
}

int CreateNewFile(const std::string& path, int mode) {
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return open(path.c_str(), flags, static_cast<mode_t>(mode));
}

std::string WithoutTemporaryNames(const std::string& text) {
  const std::string ending = OwnEnding(PidScope());
  std::string found = text;
  for (size_t at; (at = found.find(ending)) != std::string::npos;) {
    found.erase(at, ending.size() + kRandomDigits / 2);
  }
  return found;
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

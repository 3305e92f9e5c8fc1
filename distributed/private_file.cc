#include "distributed/private_file.h"

#include <sys/stat.h>

#include <fstream>

#include "caffe2/core/exit_code.h"

namespace caffe2 {

namespace {

// Everybody on the machine may be able to read a file in /tmp or in a home directory.
void CheckIsPrivate(const std::string& path, const std::string& what) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;  // reading it says why
  if ((file.st_mode & (S_IROTH | S_IWOTH)) == 0) return;
  ThrowIoError(ExitCode::kNotPermitted, what, " ", path,
               " can be read or written by everybody on this machine: run chmod 600 ", path,
               " and change its contents if others use the machine");
}

}  // namespace

std::string ReadPrivateFile(const std::string& path, const std::string& what) {
  CheckIsPrivate(path, what);
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    ThrowIoError(ExitCode::kNoInput, "cannot read ", what, " ", path);
  }
  return line;
}

}  // namespace caffe2

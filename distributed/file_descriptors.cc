#include "distributed/file_descriptors.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "caffe2/core/exit_code.h"

namespace caffe2 {

namespace {

int64_t OpenFiles() {
  std::error_code unknown;
  const std::filesystem::directory_iterator files("/proc/self/fd", unknown);
  return unknown ? 0 : std::distance(begin(files), end(files));
}

}  // namespace

void ReserveFileDescriptors(int64_t count, const char* purpose) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;  // then opening them shows it
  const int64_t open = OpenFiles();
  const auto needed = static_cast<rlim_t>(open + count);
  if (needed <= limit.rlim_cur) return;
  if (needed > limit.rlim_max) {
    ThrowIoError(ExitCode::kSystem, purpose, " needs ", count, " file descriptors besides the ",
                 open, " that are open, but the limit of this process is ", limit.rlim_max,
                 ": allow more with `ulimit -n ", needed, "` before the start");
  }
  limit.rlim_cur = needed;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    ThrowIoError(ExitCode::kSystem, "cannot raise the limit of open files to ", needed, ": ",
                 std::strerror(errno));
  }
}

void ReserveFilesOfWorld(int size) {
  // A connection for each peer, strangers that have not yet been dropped, and a few events.
  ReserveFileDescriptors(2 * size + 96, "a common world");
}

}  // namespace caffe2

// The folder of checkpoints and databases: space and speed.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "caffe2/utils/temporary_file.h"
#include "db/random_access_file.h"
#include "examples/doppio/doctor/checks.h"
#include "examples/doppio/text.h"

namespace caffe2::doctor {
namespace {

constexpr size_t kBytes = size_t{32} << 20;
constexpr size_t kBlock = size_t{1} << 20;

class TestFile {
 public:
  explicit TestFile(const std::string& path) : path_(path), fd_(CreateNewFile(path, 0600)) {
    Check(fd_ >= 0, "create");
  }
  ~TestFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(path_.c_str());
  }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;

  void Write(const std::vector<char>& block) {
    for (size_t at = 0; at < kBytes; at += block.size()) {
      Check(write(fd_, block.data(), block.size()) == static_cast<ssize_t>(block.size()), "write");
    }
    Check(fsync(fd_) == 0, "flush");
  }

  // Asks the kernel to forget its copy first, so that the disk is read. A memory file system keeps
  // the only one.
  void Read(std::vector<char>* block) {
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    for (size_t at = 0; at < kBytes; at += block->size()) {
      Check(pread(fd_, block->data(), block->size(), static_cast<off_t>(at)) ==
                static_cast<ssize_t>(block->size()),
            "read");
    }
  }

 private:
  void Check(bool good, const char* what) const {
    if (!good) {
      ThrowIoError(WriteErrorCode(errno), "cannot ", what, " ", WithoutTemporaryNames(path_), ": ",
                   db::ErrnoText(errno));
    }
  }
  const std::string path_;
  const int fd_;
};

// MiB in a second.
template <typename Body>
double Speed(const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(kBytes >> 20) / std::max(time.count(), 1e-9);
}

}  // namespace

Findings CheckDisk(const std::string& folder) {
  constexpr int64_t kLittle = int64_t{1} << 30;
  constexpr double kSlow = 20;  // MiB/s
  try {
    double written = 0, read = 0;
    {
      TestFile file(TemporaryPath((std::filesystem::path(folder) / "doppio_doctor").string()));
      std::vector<char> block(kBlock, 'x');
      written = Speed([&] { file.Write(block); });
      read = Speed([&] { file.Read(&block); });
    }
    const auto space = static_cast<int64_t>(std::filesystem::space(folder).available);
    char speeds[80];
    std::snprintf(speeds, sizeof(speeds), "writes %.0f MiB/s, reads %.0f MiB/s", written, read);
    const std::string text = folder + ": " + speeds + ", " + HumanBytes(space) + " free";
    if (space < kLittle) return {Warning("disk", text, "free some space for checkpoints")};
    if (written < kSlow) {
      return {Warning("disk", text,
                      "checkpoints take long: use a faster disk, or a larger "
                      "--checkpoint_every")};
    }
    return {Ok("disk", text)};
  } catch (const std::exception& error) {
    return {Error("disk", error.what(),
                  "give a folder with --dir that exists, may be written and "
                  "has space",
                  ExitCodeOf(error))};
  }
}

}  // namespace caffe2::doctor

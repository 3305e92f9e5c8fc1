#include "db/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"

namespace caffe2::db {

namespace {
constexpr size_t kBufferBytes = 256 << 10;
}  // namespace

std::string ErrnoText(int error) { return std::generic_category().message(error); }

RandomAccessFile::RandomAccessFile(const std::string& path) : path_(path) {
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) ThrowIoError(ExitCode::kNoInput, "cannot open ", path, ": ", ErrnoText(errno));
  struct stat status;
  if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd_);
    ThrowIoError(ExitCode::kNoInput, path, " is not a regular file");
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

RandomAccessFile::~RandomAccessFile() { close(fd_); }

void RandomAccessFile::ReadAt(uint64_t offset, void* destination, size_t n) {
  auto* out = static_cast<char*>(destination);
  if (offset >= buffer_begin_ && offset - buffer_begin_ <= buffer_size_ &&
      n <= buffer_size_ - (offset - buffer_begin_)) {
    std::memcpy(out, buffer_.data() + (offset - buffer_begin_), n);
    last_end_ = offset + n;
    return;
  }
  // A small step forward looks like reading in order: read ahead.
  const bool in_order = offset >= last_end_ && offset - last_end_ < kBufferBytes / 4;
  size_t got;
  if (in_order && n < kBufferBytes / 2) {
    buffer_.resize(kBufferBytes);
    buffer_size_ = 0;
    buffer_size_ = ReadSome(offset, buffer_.data(), kBufferBytes);
    buffer_begin_ = offset;
    got = std::min(n, buffer_size_);
    std::memcpy(out, buffer_.data(), got);
  } else {
    got = ReadSome(offset, out, n);
  }
  if (got < n) ThrowTruncated(offset, got, n);
  last_end_ = offset + n;
}

void RandomAccessFile::ReadUnbuffered(uint64_t offset, void* destination, size_t n) {
  const size_t got = ReadSome(offset, static_cast<char*>(destination), n);
  if (got < n) ThrowTruncated(offset, got, n);
}

void RandomAccessFile::ThrowTruncated(uint64_t offset, size_t got, size_t n) const {
  ThrowIoError(ExitCode::kBadData, path_, " is truncated: it has ", offset + got,
               " bytes and should have at least ", offset + n);
}

void RandomAccessFile::UpdateSize() {
  struct stat status;
  if (fstat(fd_, &status) == 0) size_ = static_cast<uint64_t>(status.st_size);
}

size_t RandomAccessFile::ReadSome(uint64_t offset, char* destination, size_t n) {
  size_t got = 0;
  while (got < n) {
    const ssize_t result = pread(fd_, destination + got, n - got, static_cast<off_t>(offset + got));
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) {
      throw IoError(
          MakeString("cannot read ", path_, " at byte ", offset + got, ": ", ErrnoText(errno)));
    }
    if (result == 0) break;
    got += static_cast<size_t>(result);
  }
  return got;
}

}  // namespace caffe2::db

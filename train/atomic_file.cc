#include "train/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/proto/caffe2.pb.h"
#include "caffe2/utils/crc32.h"
#include "caffe2/utils/owned_fd.h"
#include "caffe2/utils/temporary_file.h"
#include "caffe2/utils/write_count.h"

namespace caffe2 {
namespace {

constexpr char kKey[] = "!!CHECKSUM";

[[noreturn]] void Fail(const std::string& action, const std::string& path) {
  const int error = errno;
  ThrowIoError(WriteErrorCode(error), "cannot ", action, " ", WithoutTemporaryNames(path), ": ",
               WriteProblem(path, error));
}

void Sync(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) Fail("open", path);
  const bool ok = fsync(fd) == 0;
  const int error = errno;
  close(fd);
  errno = error;
  if (!ok) Fail("flush", path);
  CountWrite();
}

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

File Open(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  if (!file) Fail("open", path);
  return file;
}

// The checksum of the first `size` bytes.
uint32_t ChecksumOf(FILE* file, const std::string& path, long size) {
  std::vector<char> buffer(1 << 20);
  uint32_t crc = 0;
  while (size > 0) {
    const size_t want = std::min<size_t>(buffer.size(), static_cast<size_t>(size));
    if (std::fread(buffer.data(), 1, want, file) != want) Fail("read", path);
    crc = Crc32(buffer.data(), want, crc);
    CountWrite();
    size -= static_cast<long>(want);
  }
  return crc;
}

long SizeOf(FILE* file, const std::string& path) {
  if (std::fseek(file, 0, SEEK_END) != 0) Fail("read", path);
  const long size = std::ftell(file);
  std::rewind(file);
  return size;
}

// A minidb record: int32 key length, int32 value length, key, value. Its size does not depend on
// the checksum.
std::string ChecksumRecord(uint32_t crc) {
  char digits[9];
  std::snprintf(digits, sizeof(digits), "%08x", crc);
  BlobProto blob;
  blob.set_name(kKey);
  blob.set_type("std::string");
  blob.set_content(digits);
  const std::string key = kKey, value = blob.SerializeAsString();
  const int32_t lengths[2] = {static_cast<int32_t>(key.size()), static_cast<int32_t>(value.size())};
  return std::string(reinterpret_cast<const char*>(lengths), sizeof(lengths)) + key + value;
}

// `path` names the file in errors.
void WriteStream(const std::string& file, const std::string& path, const std::string& contents) {
  std::ofstream stream(file, std::ios::binary);
  stream << contents;
  stream.close();
  if (!stream) Fail("write", path);
}

// The same for a file that nobody has made yet.
void WriteNewFile(const std::string& file, const std::string& path, const std::string& contents) {
  constexpr int kPermissions = 0666;
  if (OwnedFd(CreateNewFile(file, kPermissions)).get() < 0) Fail("write", path);
  WriteStream(file, path, contents);
}

// True for what a rename would replace by a file: a device, a pipe, /dev/stdout.
bool IsDevice(const std::string& path) {
  std::error_code unknown;
  const auto type = std::filesystem::status(path, unknown).type();
  return type == std::filesystem::file_type::character ||
         type == std::filesystem::file_type::block || type == std::filesystem::file_type::fifo;
}

}  // namespace

AtomicFile::AtomicFile(const FileTarget& target)
    : target_(target), temporary_(TemporaryPath(target.path)) {}

AtomicFile::~AtomicFile() {
  if (!published_) unlink(temporary_.c_str());
  for (const std::string& old : old_) unlink(old.c_str());
}

std::string AtomicFile::Version(size_t i) const {
  return i == 0 ? target_.path : MakeString(target_.path, ".", i);
}

void AtomicFile::LinkOld() {
  for (size_t i = 0; i + 1 < static_cast<size_t>(target_.keep); ++i) {
    // Has the name of a temporary file, so that a later run finds and removes it.
    const std::string old = TemporaryPath(MakeString(target_.path, ".old", i));
    if (link(Version(i).c_str(), old.c_str()) != 0) {
      if (errno == ENOENT) return;
      LOG(WARNING) << "cannot keep the file before " << Version(i) << ": " << std::strerror(errno);
      return;
    }
    old_.push_back(old);
  }
}

void AtomicFile::Rename(const std::string& from, const std::string& to) const {
  if (target_.before_rename) target_.before_rename();
  if (std::rename(from.c_str(), to.c_str()) != 0) Fail("write", to);
}

void AtomicFile::KeepOld() const {
  for (size_t i = old_.size(); i > 0; --i) Rename(old_[i - 1], Version(i));
}

// A process may freeze at any place here, and wake when a later generation has taken the lock and
// written files of its own (RunLock). Before the check it only adds temporary files, and the check
// throws. After the check it only renames temporary files that it had before. The later generation
// has removed these, so the next rename throws; the renames before it took place before the later
// generation read a file.
void AtomicFile::Publish() {
  Sync(temporary_, O_RDONLY);
  LinkOld();
  if (target_.lock != nullptr) target_.lock->Check();
  Rename(temporary_, target_.path);
  published_ = true;
  KeepOld();
  const size_t slash = target_.path.rfind('/');
  Sync(slash == std::string::npos ? "." : target_.path.substr(0, slash + 1),
       O_RDONLY | O_DIRECTORY);
}

// The rule of Linux (fs.protected_symlinks) for links.
bool IsOfStranger(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  struct stat found, of_folder;
  if (lstat(path.c_str(), &found) != 0) return false;
  if (stat(folder.empty() ? "." : folder.c_str(), &of_folder) != 0) return false;
  const bool is_shared = (of_folder.st_mode & S_ISVTX) != 0 && (of_folder.st_mode & S_IWOTH) != 0;
  return is_shared && found.st_uid != geteuid() && found.st_uid != of_folder.st_uid;
}

std::string FollowLinks(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as many as Linux follows
  std::filesystem::path found = path;
  std::error_code error;
  for (int i = 0; i < kMaxLinks; ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(found, error);
    if (error || IsOfStranger(found)) return found.string();
    found = found.parent_path() / target;  // an absolute target replaces the folder
  }
  return path;
}

void CheckCanWrite(const std::string& path) {
  if (IsDevice(path)) return;
  const AtomicFile file({FollowLinks(path)});
  WriteNewFile(file.temporary_path(), path, "");
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    errno = EISDIR;
    Fail("write", path);
  }
}

void WriteWholeFile(const std::string& path, const std::string& contents) {
  if (IsDevice(path)) return WriteStream(path, path, contents);
  AtomicFile file({FollowLinks(path)});
  WriteNewFile(file.temporary_path(), path, contents);
  file.Publish();
}

void AppendChecksum(const std::string& path) {
  const File file = Open(path, "r+b");
  const long size = SizeOf(file.get(), path);
  const std::string record = ChecksumRecord(ChecksumOf(file.get(), path, size));
  // Between reading and writing, the C library requires fseek.
  if (std::fseek(file.get(), 0, SEEK_END) != 0 ||
      std::fwrite(record.data(), 1, record.size(), file.get()) != record.size() ||
      std::fflush(file.get()) != 0) {
    Fail("write", path);
  }
}

bool HasChecksum(const std::string& path) {
  const File file = Open(path, "rb");
  const std::string record = ChecksumRecord(0);
  if (SizeOf(file.get(), path) < static_cast<long>(record.size())) return false;
  std::string tail(record.size(), '\0');
  if (std::fseek(file.get(), -static_cast<long>(tail.size()), SEEK_END) != 0 ||
      std::fread(tail.data(), 1, tail.size(), file.get()) != tail.size()) {
    Fail("read", path);
  }
  return tail.find(kKey) != std::string::npos;
}

void VerifyChecksum(const std::string& path) {
  const File file = Open(path, "rb");
  const long size = SizeOf(file.get(), path);
  const auto record_bytes = static_cast<long>(ChecksumRecord(0).size());
  if (size < record_bytes)
    ThrowIoError(ExitCode::kBadData, path, " is cut short: it has no checksum");
  const std::string expected = ChecksumRecord(ChecksumOf(file.get(), path, size - record_bytes));
  std::string found(expected.size(), '\0');
  if (std::fread(found.data(), 1, found.size(), file.get()) != found.size()) Fail("read", path);
  if (found != expected) {
    ThrowIoError(ExitCode::kBadData, path, " is damaged or cut short: its checksum does not match");
  }
}

}  // namespace caffe2

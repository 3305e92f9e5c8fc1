// Files that appear complete or not at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/run_lock.h"

namespace caffe2 {

// Where a file is to appear.
struct FileTarget {
  std::string path;
  const RunLock* lock = nullptr;  // checked before the file appears; null: no lock
  // The number of files to keep: `path`, and earlier versions from "<path>.1" (the newest) to
  // "<path>.<keep - 1>".
  int keep = 1;
  std::function<void()> before_rename = {};  // for tests: called before each rename
};

// A temporary file in the directory of the target. The caller writes to temporary_path(); Publish()
// renames it to `path`. Before Publish(), an existing file `path` does not change. The constructor
// also deletes the temporary files for `path` that killed processes of this host have left.
class AtomicFile {
 public:
  explicit AtomicFile(const FileTarget& target);
  ~AtomicFile();  // removes the temporary file if it was not published
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& temporary_path() const { return temporary_; }
  // Flushes the temporary file to the disk, checks the lock, renames the file to `path` and flushes
  // the directory. At every moment `path` is the old file or the new one. If another run takes the
  // lock after the check, this process does not change that run's files, however late it continues.
  // Throws IoError with path and reason, and Superseded if another run has the lock now. If it
  // throws after the rename, because an earlier version cannot be kept or the directory cannot be
  // flushed, `path` is the new file.
  void Publish();

 private:
  // Gives `path` and the earlier versions that are to be kept second names, each in `old_`.
  void LinkOld();
  // Renames each of these to the name of the next earlier version.
  void KeepOld() const;
  void Rename(const std::string& from, const std::string& to) const;
  // "<path>.<i>", or `path` for 0.
  std::string Version(size_t i) const;

  const FileTarget target_;
  const std::string temporary_;
  std::vector<std::string> old_;  // of the versions 0, 1, ...
  bool published_ = false;
};

// True if another user has put a file, folder or link at `path`, in a folder such as /tmp, where
// whoever may write could put one in the way of others. The owner of the folder is trusted.
bool IsOfStranger(const std::string& path);

// The path to which symbolic links lead from `path`: `path` itself if it is no link or leads in a
// circle. Does not follow the link of a stranger. For files that are to appear where a link points,
// as AtomicFile replaces the link.
std::string FollowLinks(const std::string& path);

// Throws IoError unless a file can be written there now. Leaves the path as it is. For programs
// that work long before they write.
void CheckCanWrite(const std::string& path);

// Writes a file, which appears complete or not at all. Follows links, and writes to a device or
// pipe as it is. Throws IoError.
void WriteWholeFile(const std::string& path, const std::string& contents);

// Appends the string blob "!!CHECKSUM" to a minidb file: the CRC-32 of all bytes before it, as 8
// hexadecimal digits. Throws IoError.
void AppendChecksum(const std::string& path);
// True if the file ends with such a blob, correct or not. Throws IoError if it cannot be read.
bool HasChecksum(const std::string& path);
// Throws IoError with the path unless the file ends with the correct checksum. Otherwise the file
// is cut short or damaged, or another program wrote it.
void VerifyChecksum(const std::string& path);

}  // namespace caffe2

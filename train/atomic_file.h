// Files that appear complete or not at all.
#pragma once

#include <string>

namespace caffe2 {

// A temporary file beside `path`. The caller writes to temporary_path(); Publish() replaces `path`
// by it. Before Publish(), an existing file `path` does not change. The constructor also deletes
// temporary files of this name that killed processes have left.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  // removes the temporary file if it was not published
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& temporary_path() const { return temporary_; }
  // Flushes the temporary file to the disk, renames it to `path` and flushes the directory. Throws
  // IoError with path and reason.
  void Publish();

 private:
  std::string path_;
  std::string temporary_;
  bool published_ = false;
};

// Appends the string blob "!!CHECKSUM" to a minidb file: the CRC-32 of all bytes before it, as 8
// hexadecimal digits. Throws IoError.
void AppendChecksum(const std::string& path);
// True if the file ends with such a record, correct or not. Throws IoError if it cannot be read.
bool HasChecksum(const std::string& path);
// Throws IoError with the path unless the file ends with the correct checksum: it is cut short,
// damaged, or another program wrote it.
void VerifyChecksum(const std::string& path);

}  // namespace caffe2

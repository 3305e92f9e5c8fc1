// Files that appear whole or not at all.
#pragma once

#include <string>

namespace caffe2 {

// A temporary file beside `path` that takes its place on Publish(): until then (and if Publish is
// never reached) a file of the name `path` stays as it was. The caller writes to temporary_path().
// What processes that were killed meanwhile have left goes with the next one of this name.
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

// Appends to a minidb the blob "!!CHECKSUM", a string: the CRC-32 of all bytes before it, as 8
// hexadecimal digits. Throws IoError.
void AppendChecksum(const std::string& path);
// True if the file ends in such a record, right or wrong. Throws IoError if it cannot be read.
bool HasChecksum(const std::string& path);
// Throws IoError, naming the file, if it does not end in the right checksum: it is cut short,
// damaged, or no file of ours.
void VerifyChecksum(const std::string& path);

}  // namespace caffe2

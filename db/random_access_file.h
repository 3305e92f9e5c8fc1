// Reads a file by position, without a memory map: if the file shrinks while it is in use, reading
// throws an error and the process gets no signal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caffe2::db {

// Not thread-safe. The constructor and the reads throw IoError with the path and the text of errno,
// or with the sizes.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  // The size in bytes at the time when the file was opened or UpdateSize() was called.
  uint64_t size() const { return size_; }
  void UpdateSize();
  // Reads exactly n bytes; throws if the file is too short. Reads that follow each other closely
  // come from a read-ahead buffer.
  void ReadAt(uint64_t offset, void* destination, size_t n);
  // The same from the file as it is now, without the buffer.
  void ReadUnbuffered(uint64_t offset, void* destination, size_t n);

 private:
  [[noreturn]] void ThrowTruncated(uint64_t offset, size_t got, size_t n) const;
  // Reads up to n bytes: fewer only at the end of the file. Returns their number.
  size_t ReadSome(uint64_t offset, char* destination, size_t n);

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  std::vector<char> buffer_;
  uint64_t buffer_begin_ = 0;
  size_t buffer_size_ = 0;
  uint64_t last_end_ = 0;
};

// The text of errno.
std::string ErrnoText(int error);

}  // namespace caffe2::db

// A file read by position, without a memory map: a file that shrinks while in use gives an error,
// not a signal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caffe2::db {

// Not synchronised. All members throw IoError with path and errno or sizes.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  // Bytes when it was opened.
  uint64_t size() const { return size_; }
  // Reads exactly n bytes; throws if the file ends before. Reads that follow each other closely
  // are served from a read-ahead buffer.
  void ReadAt(uint64_t offset, void* destination, size_t n);

 private:
  // As many bytes as there are, up to n.
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

// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace caffe2 {

class OwnedFd {
 public:
  // -1 stands for none.
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() { Close(); }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  // Returns false, with errno, if data could not be written: a network file system may report a
  // full disk only here.
  bool Close() { return fd_ < 0 || close(release()) == 0; }

 private:
  int fd_;
};

}  // namespace caffe2

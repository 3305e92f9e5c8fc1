#include "distributed/connection_watch.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "caffe2/core/logging.h"

namespace caffe2 {

ConnectionWatch& ConnectionWatch::OfProcess() {
  // A forked child needs a thread of its own. Nothing is destroyed: threads may use it until the
  // end.
  static auto* mutex = new std::mutex;
  static auto* watches = new std::map<pid_t, ConnectionWatch*>;
  std::lock_guard<std::mutex> lock(*mutex);
  ConnectionWatch*& watch = (*watches)[getpid()];
  if (watch == nullptr) watch = new ConnectionWatch;
  return *watch;
}

ConnectionWatch::ConnectionWatch() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.is_open())
    throw IoError(std::string("cannot watch connections: ") + std::strerror(errno));
  std::thread([this] { Run(); }).detach();
}

void ConnectionWatch::Run() {
  pollfd ready = {epoll_.fd(), POLLIN, 0};
  for (;;) {
    if (poll(&ready, 1, -1) > 0) Update();
  }
}

void ConnectionWatch::Add(int fd, std::function<void()> on_end) {
  std::lock_guard<std::mutex> lock(mutex_);
  on_end_[fd] = std::move(on_end);
  // EPOLLONESHOT: reported once. Failures are always reported.
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLONESHOT;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event) == 0) return;
  on_end_.erase(fd);
  throw IoError(std::string("cannot watch a connection: ") + std::strerror(errno));
}

void ConnectionWatch::Remove(int fd) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (on_end_.erase(fd) > 0) epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, fd, nullptr);
}

void ConnectionWatch::Update() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::array<epoll_event, 64> ended;
  int count;
  // The kernel lists them in the order in which they ended.
  while ((count = epoll_wait(epoll_.fd(), ended.data(), ended.size(), 0)) > 0) {
    for (int i = 0; i < count; ++i) on_end_.at(ended[i].data.fd)();
  }
}

}  // namespace caffe2

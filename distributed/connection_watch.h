// Notices that connections have ended, in the order in which they end, even while nobody reads from
// them.
#pragma once

#include <functional>
#include <mutex>
#include <unordered_map>

#include "distributed/peer_sockets.h"

namespace caffe2 {

// Thread-safe. Each process has one watch, with one thread that lives as long as the process.
class ConnectionWatch {
 public:
  // Throws IoError if the process may not open another file.
  static ConnectionWatch& OfProcess();

  // Calls on_end() once when the peer has closed the connected socket `fd` or the connection has
  // failed, whether or not all data were read. The calls come one after another, in the order in
  // which the connections ended, from any thread. on_end must not throw, wait, or call this class.
  // Throws IoError if the socket cannot be watched.
  void Add(int fd, std::function<void()> on_end);
  // Once it has returned, on_end is not running and is not called any more. Does nothing if `fd` is
  // not watched. Call it before you shut down or close the socket.
  void Remove(int fd);
  // Calls on_end of all connections that have ended by now.
  void Update();

 private:
  ConnectionWatch();
  void Run();

  const Socket epoll_;
  std::mutex mutex_;
  std::unordered_map<int, std::function<void()>> on_end_;  // by file descriptor
};

}  // namespace caffe2

// A Redis server as a child of this process.
#pragma once

#include <sys/types.h>

#include <future>
#include <mutex>
#include <string>
#include <thread>

namespace caffe2 {

// Runs redis-server, or valkey-server where there is no such program, with a configuration that it
// reads from its standard input, so that no password is seen on a command line or in a file.
//
// The server dies with this process, also after SIGKILL, and ignores the signals that end a whole
// group of processes (SIGINT, SIGTERM, SIGHUP): it ends when this object does. Methods may be
// called from any thread.
class RedisProcess {
 public:
  // Starts the server; does not wait until it listens. Throws IoError if neither program is
  // installed or none can be started.
  explicit RedisProcess(const std::string& configuration);
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  bool running() const;
  // What the server has said, its last kilobytes, on one line.
  std::string output() const;
  const std::string& program() const { return program_; }

 private:
  // Of a thread of its own, since the kernel ends such a child with the thread that made it: starts
  // the server, then reads what it says until it ends.
  void Run(const std::string& configuration, std::promise<void>* started);
  void ReadOutput(int fd);

  std::string program_;
  mutable std::mutex mutex_;  // guards what follows
  pid_t pid_ = -1;
  bool running_ = false;
  std::string output_;

  std::thread thread_;
};

}  // namespace caffe2

// A Redis server as a child process.
#pragma once

#include <sys/types.h>

#include <future>
#include <mutex>
#include <string>
#include <thread>

namespace caffe2 {

// Runs redis-server or, if that is not in PATH, valkey-server. The server reads its configuration
// from standard input, so that its password appears on no command line and in no file.
//
// The server ends with this object. It also dies with this process, even after SIGKILL, and ignores
// signals to a whole process group (SIGINT, SIGTERM, SIGHUP). Thread-safe.
class RedisProcess {
 public:
  // Starts the server and does not wait until it listens. Throws IoError if neither program is in
  // PATH or the process cannot be started.
  explicit RedisProcess(const std::string& configuration);
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  bool running() const;
  // The last 4 KiB of the server's output, on one line.
  std::string output() const;
  const std::string& program() const { return program_; }

 private:
  // Starts the server, then reads its output until it ends. Runs in its own thread, because the
  // kernel ends such a child together with the thread that created it.
  void Run(const std::string& configuration, std::promise<void>* started);
  void ReadOutput(int fd);

  std::string program_;
  mutable std::mutex mutex_;  // guards pid_, running_ and output_
  pid_t pid_ = -1;
  bool running_ = false;
  std::string output_;

  std::thread thread_;
};

}  // namespace caffe2

#include "tests/distributed/test_util.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

namespace caffe2::testing {

namespace {

using Clock = std::chrono::steady_clock;

void WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

}  // namespace

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(fd);
  return ntohs(address.sin_port);
}

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

void SleepMs(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

PrivateRedis::PrivateRedis(const std::vector<std::string>& arguments, int port)
    : port_(port != 0 ? port : FreePort()) {
  std::vector<std::string> command = {
      "redis-server", "--port", std::to_string(port_), "--save",    "",          "--appendonly",
      "no",           "--bind", "127.0.0.1",           "--logfile", "/dev/null", "--dir",
      "/tmp"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<char*> argv;
    for (std::string& argument : command) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  // Until it answers, or has ended because the program does not exist.
  const auto start = Clock::now();
  while (SecondsSince(start) < 60) {
    int status;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return;
    }
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool up = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (up) return;
    SleepMs(10);
  }
}

PrivateRedis::~PrivateRedis() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void PrivateRedis::Signal(int signal) const { kill(pid_, signal); }

RedisOptions PrivateRedis::options() const {
  RedisOptions options;
  options.port = port_;
  options.connect_timeout = milliseconds(2000);
  options.command_timeout = milliseconds(2000);
  return options;
}

std::vector<ShardResult> RunShards(int count, const std::function<std::string(int)>& body,
                                   double limit_seconds,
                                   const std::function<void(const std::vector<pid_t>&)>& during) {
  const auto start = Clock::now();
  std::vector<pid_t> pids;
  std::vector<int> pipes;
  for (int shard = 0; shard < count; ++shard) {
    int ends[2];
    CAFFE_ENFORCE_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      int status = 1;
      std::string message;
      try {
        message = body(shard);
        status = 0;
      } catch (const std::exception& e) {
        message = e.what();
      }
      WriteAll(ends[1], message);
      _exit(status);  // no destructors of the parent's objects
    }
    close(ends[1]);
    pids.push_back(pid);
    pipes.push_back(ends[0]);
  }
  std::thread meanwhile([&] {
    if (during) during(pids);
  });
  std::vector<ShardResult> results(count);
  std::vector<bool> ended(count);
  for (int left = count; left > 0; SleepMs(2)) {
    for (int shard = 0; shard < count; ++shard) {
      int status;
      if (ended[shard] || waitpid(pids[shard], &status, WNOHANG) != pids[shard]) continue;
      ended[shard] = true;
      --left;
      results[shard].status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      results[shard].seconds = SecondsSince(start);
    }
    if (SecondsSince(start) > limit_seconds) {
      for (int shard = 0; shard < count; ++shard) {
        if (!ended[shard]) kill(pids[shard], SIGKILL);
      }
    }
  }
  meanwhile.join();
  for (int shard = 0; shard < count; ++shard) {
    char buffer[4096];
    ssize_t n;
    while ((n = read(pipes[shard], buffer, sizeof buffer)) > 0) {
      results[shard].message.append(buffer, static_cast<size_t>(n));
    }
    close(pipes[shard]);
  }
  return results;
}

void RunThreads(int count, const std::function<void(int)>& body) {
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> threads;
  for (int shard = 0; shard < count; ++shard) {
    threads.emplace_back([&, shard] {
      try {
        body(shard);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex);
        if (!error) error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace caffe2::testing

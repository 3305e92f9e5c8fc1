#include "distributed/redis_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/owned_fd.h"
#include "distributed/host.h"
#include "distributed/run_record.h"

namespace caffe2 {

namespace {

constexpr size_t kMaxOutputBytes = 4096;

// The path of redis-server or, if PATH does not have it, valkey-server.
std::string FindServer() {
  const char* path = std::getenv("PATH");
  const std::string folders = path == nullptr ? "" : path;
  for (const char* program : {"redis-server", "valkey-server"}) {
    std::istringstream list(folders);
    for (std::string folder; std::getline(list, folder, ':');) {
      std::string file = folder + "/" + program;
      if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
    }
  }
  ThrowIoError(
      ExitCode::kStoreUnreachable,
      "neither redis-server nor valkey-server is in PATH; a tcp:// store needs one of them: "
      "install "
      "it on the host of shard 0 (apt-get install redis-server), or use another store: "
      "--init_method file:///DIRECTORY (which all shards see) or redis://HOST");
}

struct Pipe {
  OwnedFd read_end, write_end;
};

Pipe MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ThrowIoError(ExitCode::kSystem, "pipe: ", std::strerror(errno));
  const OwnedFd low[2] = {OwnedFd(ends[0]), OwnedFd(ends[1])};
  // Numbers above the standard descriptors, which the child will replace.
  return {OwnedFd(fcntl(ends[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1)),
          OwnedFd(fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1))};
}

// Turns the forked child into the server. It calls only async-signal-safe functions, because other
// threads of the parent may have held locks at fork().
[[noreturn]] void BecomeServer(const char* program, pid_t parent, int input, int output) {
  sigset_t ignored;
  sigemptyset(&ignored);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ignored, number);
  sigprocmask(SIG_SETMASK, &ignored, nullptr);  // the server inherits the mask
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool orphan = getppid() != parent;
  const bool ready = setsid() >= 0 && chdir("/") == 0 && dup2(input, STDIN_FILENO) >= 0 &&
                     dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0;
  if (orphan || !ready) _exit(127);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  char* const arguments[] = {const_cast<char*>(program), const_cast<char*>("-"), nullptr};
  execv(program, arguments);
  _exit(127);
}

void WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;  // the server has ended; its output says why
    done += static_cast<size_t>(n);
  }
}

}  // namespace

RedisProcess::RedisProcess(const std::string& configuration) : program_(FindServer()) {
  IgnoreBrokenPipes();
  std::promise<void> started;
  thread_ = std::thread([&] { Run(configuration, &started); });
  try {
    started.get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

RedisProcess::~RedisProcess() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (running_) kill(pid_, SIGKILL);
  }
  thread_.join();
}

void RedisProcess::Run(const std::string& configuration, std::promise<void>* started) {
  Pipe input, output;
  try {
    input = MakePipe();
    output = MakePipe();
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0)
      BecomeServer(program_.c_str(), parent, input.read_end.get(), output.write_end.get());
    if (pid < 0) ThrowIoError(ExitCode::kSystem, "fork: ", std::strerror(errno));
    const std::lock_guard<std::mutex> lock(mutex_);
    pid_ = pid;
    running_ = true;
  } catch (...) {
    started->set_exception(std::current_exception());
    return;
  }
  input.read_end.Close();
  output.write_end.Close();
  WriteAll(input.write_end.get(), configuration);
  input.write_end.Close();
  started->set_value();  // the caller may now destroy `configuration` and `started`
  ReadOutput(output.read_end.get());
}

void RedisProcess::ReadOutput(int fd) {
  char text[512];
  ssize_t n;
  while ((n = read(fd, text, sizeof text)) > 0 || (n < 0 && errno == EINTR)) {
    if (n < 0) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    output_.append(text, static_cast<size_t>(n));
    if (output_.size() > kMaxOutputBytes) output_.erase(0, output_.size() - kMaxOutputBytes);
  }
  siginfo_t end{};
  waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOWAIT);
  const std::lock_guard<std::mutex> lock(mutex_);
  waitpid(pid_, nullptr, 0);  // under the lock: after this the pid may be reused
  running_ = false;
}

bool RedisProcess::running() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return running_;
}

std::string RedisProcess::output() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return OneLine(output_);
}

}  // namespace caffe2

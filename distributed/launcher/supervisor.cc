#include "distributed/launcher/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "caffe2/core/cpu_cores.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/status_bar.h"
#include "distributed/core_share.h"
#include "distributed/launcher/process_tree.h"
#include "distributed/launcher/shard_output.h"

namespace caffe2 {

namespace {

constexpr char kPasswordLine[] = "password ", kStartLine[] = "start", kSignalLine[] = "signal ",
               kAliveLine[] = "alive";
// Time to save a checkpoint after the launcher is lost.
constexpr milliseconds kLostGrace{5000};
// Time for processes that the program has left, after its end.
constexpr milliseconds kLeftoverGrace{500};
// How long the supervisor waits for more output of processes that it cannot end.
constexpr int kDrainMs = 2000;
// How often the supervisor looks whether a program that was told to end writes files, and how much
// it must have written since the last report. Lines of a log are less.
constexpr int kWriteLookMs = 500;
constexpr int64_t kMinWritten = int64_t{64} << 10;
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};

int NumberIn(const Environment& environment, const char* name, int otherwise) {
  const auto found = environment.find(name);
  return found == environment.end() ? otherwise : std::atoi(found->second.c_str());
}

// torchrun's variables for the place of this shard, which another launcher's variables in the
// environment give.
Environment PlaceVariables(const Environment& environment) {
  const auto launch = ReadLaunchEnvironment(environment);
  CheckUsage(launch.has_value(), "the launcher has set no variables that give a shard's rank");
  Environment place = {{"RANK", std::to_string(launch->rank)},
                       {"WORLD_SIZE", std::to_string(launch->size)},
                       {"LOCAL_RANK", std::to_string(launch->local_rank)}};
  if (launch->local_size > 0) place["LOCAL_WORLD_SIZE"] = std::to_string(launch->local_size);
  if (launch->store.kind == StoreUrl::Kind::kTcp) place["MASTER_ADDR"] = launch->store.host;
  return place;
}

// The part of this host's cores for a shard; empty if there are fewer cores than shards.
CoreSet CoresOf(int local_rank, int local_size) {
  const CoreSet all = AffinityCores();
  const size_t share = all.size() / static_cast<size_t>(std::max(1, local_size));
  CoreSet part;
  size_t index = 0;
  for (const int core : all) {
    if (share > 0 && index++ / share == static_cast<size_t>(local_rank)) part.insert(core);
  }
  return part;
}

// A pipe whose lines are written with the number of the shard.
class PrefixedStream {
 public:
  PrefixedStream(int to, int shard)
      : to_(to), splitter_([this, shard](std::string_view line) { Put(shard, line); }) {
    if (pipe2(ends_, O_CLOEXEC) != 0) {
      ThrowIoError(ExitCode::kSystem, "pipe: ", std::strerror(errno));
    }
  }
  ~PrefixedStream() {
    close(ends_[0]);
    CloseWriteEnd();
  }
  PrefixedStream(const PrefixedStream&) = delete;
  PrefixedStream& operator=(const PrefixedStream&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  bool ended() const { return ended_; }
  void CloseWriteEnd() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  // Reads what there is; the descriptor must be readable.
  void Read() {
    char bytes[16384];
    const ssize_t n = read(ends_[0], bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return;
    if (n > 0) splitter_.Add({bytes, static_cast<size_t>(n)});
    ended_ = n <= 0;
    if (ended_) splitter_.Finish();
  }

 private:
  void Put(int shard, std::string_view line) {
    const std::string text = PrefixLine(shard, line);
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = write(to_, text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR) return;  // nobody reads any more
      done += static_cast<size_t>(std::max<ssize_t>(n, 0));
    }
  }

  int to_;
  int ends_[2] = {-1, -1};
  bool ended_ = false;
  LineSplitter splitter_;
};

// Whether the processes below this one write files.
class WriteWatch {
 public:
  // True if they have written kMinWritten since the construction or the last true.
  bool Look() {
    auto now = BytesWritten();
    for (const auto& [pid, bytes] : now) {
      const auto before = last_.find(pid);
      unreported_ += bytes - (before == last_.end() ? 0 : before->second);
    }
    last_ = std::move(now);
    if (unreported_ < kMinWritten) return false;
    unreported_ = 0;
    return true;
  }

 private:
  std::map<pid_t, int64_t> last_ = BytesWritten();
  int64_t unreported_ = 0;
};

class Supervisor {
 public:
  explicit Supervisor(const SuperviseOptions& options) : options_(options) {
    sigset_t handled;
    sigemptyset(&handled);
    for (const int number : kForwarded) sigaddset(&handled, number);
    sigaddset(&handled, SIGCHLD);
    sigprocmask(SIG_BLOCK, &handled, nullptr);
    signals_ = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) ThrowIoError(ExitCode::kSystem, "signalfd: ", std::strerror(errno));
    AdoptOrphans();
    if (!options.controlled) prctl(PR_SET_PDEATHSIG, SIGTERM);
    parent_ = getppid();
  }
  ~Supervisor() { close(signals_); }

  int Run() {
    environment_ = ProcessEnvironment();
    for (const auto& [name, value] : options_.environment) environment_[name] = value;
    if (options_.controlled && !WaitForStart()) return static_cast<int>(ExitCode::kPeerLost);
    if (early_signal_ != 0) return 128 + early_signal_;
    Start();
    while (!status_ && !lost_) Step(-1);
    EndDescendants(lost_ ? kLostGrace : kLeftoverGrace);
    // A process that survives SIGKILL, in a system call that hangs, keeps its output open.
    while (!OutputEnded() && Step(kDrainMs)) {
    }
    const int status = status_.value_or(static_cast<int>(ExitCode::kPeerLost));
    if (options_.placed_by_environment) ReportEnd(status);
    return status;
  }

 private:
  // False if the launcher is lost before it has said all.
  bool WaitForStart() {
    while (!started_by_launcher_ && !lost_ && early_signal_ == 0) Step(-1);
    return !lost_;
  }

  void Start() {
    if (options_.placed_by_environment) {
      for (const auto& [name, value] : PlaceVariables(environment_)) environment_[name] = value;
    }
    shard_ = NumberIn(environment_, "RANK", 0);
    const int local_size = NumberIn(environment_, "LOCAL_WORLD_SIZE", 1);
    // srun may have bound the shard to cores of its own.
    const bool bound = options_.placed_by_environment &&
                       static_cast<long>(AffinityCores().size()) < sysconf(_SC_NPROCESSORS_ONLN);
    if (!bound) environment_.merge(ThreadVariables(environment_, local_size));
    StartOptions start;
    start.words = options_.command;
    start.environment = environment_;
    start.new_group = start.dies_with_parent = true;
    start.output = STDOUT_FILENO;
    start.error = STDERR_FILENO;
    if (options_.bind_cores) {
      start.cores = CoresOf(NumberIn(environment_, "LOCAL_RANK", 0), local_size);
    }
    if (options_.placed_by_environment) {
      for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
        streams_.push_back(std::make_unique<PrefixedStream>(fd, shard_));
      }
      start.output = streams_[0]->write_end();
      start.error = streams_[1]->write_end();
    }
    if (options_.shows_bar && shard_ == 0) {
      start.environment[kBarStreamVariable] = StreamIdentity(start.error);
    }
    child_ = StartProcess(start);
    for (const auto& stream : streams_) stream->CloseWriteEnd();
  }

  // Waits for the next events and handles them. Returns false if there were none in this time.
  bool Step(int timeout_ms) {
    std::vector<pollfd> polled = {{signals_, POLLIN, 0}};
    const bool reads_control = options_.controlled && !lost_;
    if (reads_control) polled.push_back({STDIN_FILENO, POLLIN, 0});
    const size_t first_stream = polled.size();
    std::vector<PrefixedStream*> open;
    for (const auto& stream : streams_) {
      if (stream->ended()) continue;
      open.push_back(stream.get());
      polled.push_back({stream->read_end(), POLLIN, 0});
    }
    if (options_.lease.count() > 0) {
      timeout_ms = static_cast<int>(std::max<int64_t>(1, lease_end_.remaining().count()));
    }
    const bool watches = writes_ && child_ > 0;
    if (watches) timeout_ms = timeout_ms < 0 ? kWriteLookMs : std::min(timeout_ms, kWriteLookMs);
    const int ready = poll(polled.data(), polled.size(), timeout_ms);
    if (ready < 0 && errno != EINTR) {
      ThrowIoError(ExitCode::kSystem, "poll: ", std::strerror(errno));
    }
    if (polled[0].revents != 0) HandleSignals();
    if (reads_control && polled[1].revents != 0) ReadControl();
    for (size_t i = 0; i < open.size(); ++i) {
      if (polled[first_stream + i].revents != 0) open[i]->Read();
    }
    if (options_.lease.count() > 0 && lease_end_.expired()) lost_ = true;
    if (watches && next_write_look_.expired()) {
      next_write_look_ = Deadline(milliseconds(kWriteLookMs));
      if (writes_->Look()) Report(ShardSavesLine::Format());
    }
    return ready != 0;
  }

  void HandleSignals() {
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) == sizeof info) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD) {
        ReapChild();
      } else if (!options_.controlled && getppid() != parent_) {
        lost_ = true;
      } else {
        Forward(number);
      }
    }
  }

  void ReapChild() {
    int status = 0;
    if (child_ > 0 && waitpid(child_, &status, WNOHANG) == child_) {
      status_ = ShellExitStatus(status);
      child_ = -1;
    }
  }

  void Forward(int number) {
    const bool ends =
        number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGKILL;
    if (child_ > 0) {
      kill(-child_, number);
      if (ends && !writes_) writes_.emplace();
    } else if (ends) {
      early_signal_ = number;
    }
  }

  void ReadControl() {
    char bytes[4096];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
      lost_ = true;
      return;
    }
    lease_end_ = Deadline(options_.lease);
    control_.append(bytes, static_cast<size_t>(n));
    for (size_t end; (end = control_.find('\n')) != std::string::npos;) {
      Obey(LaunchControl::Parse(control_.substr(0, end)));
      control_.erase(0, end + 1);
    }
  }

  void Obey(const LaunchControl& control) {
    switch (control.kind) {
      case LaunchControl::Kind::kPassword:
        environment_["REDISCLI_AUTH"] = control.password;
        environment_.erase("CAFFE2_REDIS_PASSWORD_FILE");
        break;
      case LaunchControl::Kind::kStart:
        started_by_launcher_ = true;
        break;
      case LaunchControl::Kind::kSignal:
        Forward(control.signal);
        break;
      case LaunchControl::Kind::kAlive:
        break;
    }
  }

  bool OutputEnded() const {
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const auto& stream) { return stream->ended(); });
  }

  void ReportEnd(int status) const {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    Report(ShardEndLine{status, host}.Format());
  }

  // Tells the launcher.
  void Report(const std::string& text) const {
    const std::string line =
        options_.placed_by_environment ? PrefixLine(shard_, text) : text + "\n";
    (void)!write(STDERR_FILENO, line.data(), line.size());
  }

  const SuperviseOptions options_;
  Environment environment_;
  int signals_ = -1;
  pid_t parent_ = -1, child_ = -1;
  int shard_ = 0;
  std::vector<std::unique_ptr<PrefixedStream>> streams_;
  std::string control_;  // the last, incomplete line
  bool started_by_launcher_ = false;
  int early_signal_ = 0;              // one that came before the program was started
  bool lost_ = false;                 // the launcher has died, or the connection to it
  std::optional<int> status_;         // once the program has ended
  std::optional<WriteWatch> writes_;  // once the program was told to end
  Deadline next_write_look_{milliseconds(0)};
  Deadline lease_end_{options_.lease};
};

}  // namespace

std::string LaunchControl::Format() const {
  switch (kind) {
    case Kind::kPassword:
      return kPasswordLine + password + "\n";
    case Kind::kStart:
      return MakeString(kStartLine, "\n");
    case Kind::kSignal:
      return MakeString(kSignalLine, signal, "\n");
    case Kind::kAlive:
      break;
  }
  return MakeString(kAliveLine, "\n");
}

LaunchControl LaunchControl::Parse(const std::string& line) {
  if (line.rfind(kPasswordLine, 0) == 0) {
    return {Kind::kPassword, line.substr(std::strlen(kPasswordLine)), 0};
  }
  if (line.rfind(kSignalLine, 0) == 0) {
    const int number = std::atoi(line.c_str() + std::strlen(kSignalLine));
    if (number > 0 && number <= SIGRTMAX) return {Kind::kSignal, "", number};
  }
  if (line == kStartLine) return {Kind::kStart, "", 0};
  if (line == kAliveLine) return {Kind::kAlive, "", 0};
  ThrowIoError(ExitCode::kInternal, "a launcher sent an unknown line: ", OneLine(line));
}

Environment ThreadVariables(const Environment& environment, int local_size) {
  Environment variables;
  const CoreSet cores = AffinityCores();
  if (local_size <= 1) return variables;
  const std::vector<MemberRecord> shards(static_cast<size_t>(local_size),
                                         MemberRecord{ProcessId::Self(), 0, cores});
  const bool own_policy =
      environment.count("OMP_WAIT_POLICY") != 0 || environment.count("GOMP_SPINCOUNT") != 0;
  if (environment.count("OMP_NUM_THREADS") == 0) {
    variables["OMP_NUM_THREADS"] = std::to_string(CoreShare(shards, 0, CoreQuota()));
  }
  if (!own_policy && local_size > AvailableCores()) variables["OMP_WAIT_POLICY"] = "passive";
  return variables;
}

int Supervise(const SuperviseOptions& options) { return Supervisor(options).Run(); }

}  // namespace caffe2

#include "distributed/launcher/run_attempt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "caffe2/core/exit_code.h"
#include "caffe2/utils/status_bar.h"
#include "distributed/host.h"
#include "distributed/launcher/process_tree.h"
#include "distributed/launcher/supervisor.h"
#include "distributed/run_record.h"

namespace caffe2 {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLastLines = 10, kMaxLastLineBytes = 300;
constexpr milliseconds kKillGrace{5000};    // from SIGKILL to giving a supervisor up
constexpr milliseconds kGrowthCheck{1000};  // between calls of can_grow
// A shard that has written nothing for this long does not save (as StopWatchdog::kWrite in
// trainers). Shards that save get so many times `stop_grace`.
constexpr milliseconds kSaveSilence{15000};
constexpr int kMaxGraces = 10;

// The lines of one shard.
class ShardLog {
 public:
  ShardLog(const AttemptOptions& options, const LaunchPlan& plan, int shard) {
    if (options.log_dir.empty()) return;
    path_ = LogPath(options.log_dir, shard);
    file_ = std::fopen(path_.c_str(), "ae");
    if (file_ == nullptr) Refuse();
    // The lines of an earlier run stay: they may say why it failed.
    if (plan.restart_count > 0) {
      Write(MakeString("doppio: restart ", plan.restart_count));
    } else if (std::ftell(file_) > 0) {
      Write(MakeString("doppio: run ", plan.run_id, " begins"));
    }
  }
  ~ShardLog() {
    if (file_ != nullptr) std::fclose(file_);
  }
  ShardLog(const ShardLog&) = delete;
  ShardLog& operator=(const ShardLog&) = delete;

  void Add(std::string_view line) {
    lines_.emplace_back(line.substr(0, kMaxLastLineBytes));
    if (lines_.size() > kLastLines) lines_.pop_front();
    Write(line);
  }
  // A line for the file only.
  void Note(std::string_view line) { Write(line); }
  std::vector<std::string> last_lines() const { return {lines_.begin(), lines_.end()}; }

 private:
  // A full disk ends neither the shards nor their output; it is said once.
  void Write(std::string_view line) {
    if (file_ == nullptr) return;
    std::fwrite(line.data(), 1, line.size(), file_);
    std::fputc('\n', file_);
    if (std::fflush(file_) == 0) return;
    LOG(WARNING) << "cannot write " << path_ << ": " << std::strerror(errno)
                 << "; the rest of this log is missing";
    std::fclose(file_);
    file_ = nullptr;
  }
  [[noreturn]] void Refuse() const {
    ThrowIoError(ExitCode::kCannotWrite, "--log_dir: cannot write ", path_, ": ",
                 std::strerror(errno));
  }

  std::string path_;
  FILE* file_ = nullptr;
  std::deque<std::string> lines_;
};

// One of the two output streams of a process.
struct Stream {
  int fd = -1;
  OutputWriter* shown = nullptr;
  LineSplitter splitter;
};

// A supervisor of one shard, or of mpirun or srun.
struct Process {
  LaunchProcess what;
  pid_t pid = -1;    // -1 after its end
  int control = -1;  // its standard input
  std::vector<std::unique_ptr<Stream>> streams;
  int status = 0;
};

struct PipeEnds {
  int read_end, write_end;
};
PipeEnds MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ThrowIoError(ExitCode::kSystem, "pipe: ", std::strerror(errno));
  return {ends[0], ends[1]};
}

class Attempt {
 public:
  Attempt(const LaunchPlan& plan, const AttemptOptions& options)
      : plan_(plan), options_(options), others_(Children()) {
    IgnoreBrokenPipes();
    for (int shard = 0; shard < plan.num_shards; ++shard) {
      logs_.push_back(std::make_unique<ShardLog>(options, plan, shard));
    }
    sigset_t handled;
    sigemptyset(&handled);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&handled, number);
    sigprocmask(SIG_BLOCK, &handled, nullptr);
    signals_ = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) ThrowIoError(ExitCode::kSystem, "signalfd: ", std::strerror(errno));
  }
  // Ends what still runs, after an exception too.
  ~Attempt() {
    ClearBar();
    EndDescendants(milliseconds(0), others_);
    for (const auto& process : processes_) {
      CloseControl(process.get());
      for (const auto& stream : process->streams) CloseStream(stream.get());
    }
    close(signals_);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  AttemptResult Run() {
    for (const LaunchProcess& what : ProcessesOf(plan_)) StartOne(what);
    for (const auto& process : processes_) {
      if (!options_.password.empty()) {
        Say(process.get(), {LaunchControl::Kind::kPassword, options_.password, 0});
      }
      Say(process.get(), {LaunchControl::Kind::kStart, "", 0});
    }
    while (!HasEnded()) {
      Wait();
      Grow();
      Escalate();
      KeepAlive();
    }
    result_.seconds = Seconds();
    return std::move(result_);
  }

 private:
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void StartOne(const LaunchProcess& what) {
    auto process = std::make_unique<Process>();
    process->what = what;
    const PipeEnds control = MakePipe(), output = MakePipe(), error = MakePipe();
    StartOptions start;
    start.words = what.words;
    start.environment = ProcessEnvironment();
    start.input = control.read_end;
    start.output = output.write_end;
    start.error = error.write_end;
    start.new_session = true;
    process->control = control.write_end;
    AddStream(process.get(), output.read_end, options_.output);
    AddStream(process.get(), error.read_end, options_.error);
    processes_.push_back(std::move(process));
    std::exception_ptr failure;
    try {
      processes_.back()->pid = StartProcess(start);
    } catch (...) {
      failure = std::current_exception();
    }
    for (const int fd : {control.read_end, output.write_end, error.write_end}) close(fd);
    if (failure) std::rethrow_exception(failure);
  }

  void AddStream(Process* process, int fd, OutputWriter* shown) {
    auto sink = [this, process, shown](std::string_view line) {
      if (process->what.shard != LaunchProcess::kAllShards) {
        Show(process->what.shard, line, shown);
      } else {
        ShowOfAll(line, shown);
      }
    };
    process->streams.push_back(std::make_unique<Stream>(Stream{fd, shown, LineSplitter(sink)}));
  }

  void Show(int shard, std::string_view line, OutputWriter* shown) {
    if (ShardSavesLine::Take(&line)) {
      saved_at_[shard] = Clock::now();
      if (line.empty()) return;
    }
    if (plan_.shows_bar && shard == 0) {
      if (auto bar = StatusBar::Decode(line)) {
        if (bar->in_log && !bar->fields.empty()) logs_.at(0)->Note(bar->Text());
        bar_ = std::move(*bar);
        DrawBar();
        return;
      }
    }
    logs_.at(static_cast<size_t>(shard))->Add(line);
    shown->Write(PrefixLine(shard, line));
  }

  // The terminal may have another width than at the last time.
  void DrawBar() {
    if (plan_.shows_bar) options_.error->ShowBar(bar_.Fit(TerminalWidth(STDERR_FILENO) - 1));
  }
  void ClearBar() {
    bar_ = {};
    DrawBar();
  }

  // A line of mpirun or srun, or of a shard that they have started.
  void ShowOfAll(std::string_view line, OutputWriter* shown) {
    // The supervisors of the shards tell which one.
    if (line == ShardSavesLine::Format()) return;
    const auto of_shard = ParseShardLine(line);
    if (!of_shard || of_shard->shard >= plan_.num_shards) {
      shown->Write(std::string(line) + "\n");
    } else if (const auto end = ShardEndLine::Parse(of_shard->text)) {
      NoteEnd(of_shard->shard, end->host, end->status);
    } else {
      Show(of_shard->shard, of_shard->text, shown);
    }
  }

  // The shards that still write files after they were told to end.
  std::vector<int> SavingShards() const {
    std::vector<int> saving;
    for (const auto& [shard, at] : saved_at_) {
      if (Clock::now() - at < kSaveSilence) saving.push_back(shard);
    }
    return saving;
  }

  void NoteEnd(int shard, const std::string& host, int status) {
    if (shard == 0) ClearBar();
    saved_at_.erase(shard);
    result_.ends.push_back({shard, host, status, Seconds(), told_,
                            logs_.at(static_cast<size_t>(shard))->last_lines()});
    if (status == 0) return;
    if (next_signal_ == 0 && options_.goes_on_without && options_.goes_on_without(shard)) {
      result_.ends.back().was_expendable = true;
      options_.error->Write(MakeString("doppio: the run goes on without shard ", shard, " on ",
                                       host, ", which ended with status ", status, "\n"));
      return;
    }
    BeginEnd(options_.failure_grace);
  }

  bool HasEnded() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const auto& process) {
      return process->pid < 0 && std::all_of(process->streams.begin(), process->streams.end(),
                                             [](const auto& stream) { return stream->fd < 0; });
    });
  }

  void Wait() {
    std::vector<pollfd> polled = {{signals_, POLLIN, 0}};
    std::vector<Stream*> open;
    for (const auto& process : processes_) {
      for (const auto& stream : process->streams) {
        if (stream->fd < 0) continue;
        polled.push_back({stream->fd, POLLIN, 0});
        open.push_back(stream.get());
      }
    }
    constexpr int kTickMs = 200;
    if (poll(polled.data(), polled.size(), kTickMs) < 0 && errno != EINTR) {
      ThrowIoError(ExitCode::kSystem, "poll: ", std::strerror(errno));
    }
    for (size_t i = 0; i < open.size(); ++i) {
      if (polled[i + 1].revents != 0) ReadStream(open[i]);
    }
    ReadSignals();
    Reap();
    DrawBar();
  }

  void ReadStream(Stream* stream) {
    char bytes[65536];
    const ssize_t n = read(stream->fd, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return;
    if (n > 0) {
      stream->splitter.Add({bytes, static_cast<size_t>(n)});
    } else {
      stream->splitter.Finish();
      CloseStream(stream);
    }
  }

  static void CloseStream(Stream* stream) {
    if (stream->fd >= 0) close(stream->fd);
    stream->fd = -1;
  }
  static void CloseControl(Process* process) {
    if (process->control >= 0) close(process->control);
    process->control = -1;
  }

  void ReadSignals() {
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) == sizeof info) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD) continue;
      if (result_.signal == 0) {
        result_.signal = number;
        Stop(number);
      } else {
        next_step_ = last_step_ = Clock::now();
        next_signal_ = SIGKILL;
      }
    }
  }

  void Reap() {
    for (const auto& process : processes_) {
      int status = 0;
      if (process->pid < 0 || waitpid(process->pid, &status, WNOHANG) != process->pid) continue;
      process->pid = -1;
      process->status = ShellExitStatus(status);
      CloseControl(process.get());
      // Processes that a killed supervisor has left hold its streams open.
      EndOrphans();
      for (const auto& stream : process->streams) {
        // A process that survives even SIGKILL, in a system call that hangs, holds them still.
        if (stream->fd >= 0) fcntl(stream->fd, F_SETFL, O_NONBLOCK);
        while (stream->fd >= 0) ReadStream(stream.get());
      }
      if (process->what.shard != LaunchProcess::kAllShards) {
        NoteEnd(process->what.shard, process->what.host, process->status);
      } else {
        result_.launcher_status = process->status;
      }
    }
  }

  void EndOrphans() {
    std::set<pid_t> spared = others_;
    for (const auto& process : processes_) {
      if (process->pid >= 0) spared.insert(process->pid);
    }
    EndDescendants(milliseconds(0), spared);
  }

  // Begins to end all shards, unless that has begun.
  void BeginEnd(milliseconds grace) {
    if (next_signal_ != 0) return;
    next_step_ = Clock::now() + grace;
    next_signal_ = SIGTERM;
  }

  // Sends this signal now, and SIGKILL after `stop_grace`, or later to shards that save.
  void Stop(int number) {
    SayAll(number);
    next_signal_ = SIGKILL;
    next_step_ = Clock::now() + options_.stop_grace;
    last_step_ = Clock::now() + kMaxGraces * options_.stop_grace;
  }

  // Lets shards that save go on. Returns false if there are none, or if their time is over.
  bool WaitForSaves() {
    const std::vector<int> saving = SavingShards();
    if (saving.empty() || Clock::now() >= last_step_) return false;
    if (!std::exchange(waits_for_saves_, true)) {
      const auto most = std::chrono::duration_cast<std::chrono::seconds>(last_step_ - Clock::now());
      const bool one = saving.size() == 1;
      options_.error->Write(MakeString(
          "doppio: --stop_timeout is over, but ", ListOfShards(saving),
          one ? " still writes files: waiting for it" : " still write files: waiting for them",
          ", at most ", most.count(), " s\n"));
    }
    return true;
  }

  void Grow() {
    if (!options_.can_grow || next_signal_ != 0 || !result_.ends.empty()) return;
    if (Clock::now() < next_growth_check_) return;
    next_growth_check_ = Clock::now() + kGrowthCheck;
    if (!options_.can_grow()) return;
    result_.was_told_to_grow = true;
    Stop(SIGTERM);
  }

  void Escalate() {
    if (next_signal_ == 0 || Clock::now() < next_step_) return;
    if (gave_up_) {
      // Not EndDescendants(), which would take the status that Reap() waits for.
      for (const auto& process : processes_) {
        if (process->pid >= 0) kill(process->pid, SIGKILL);
      }
      return;
    }
    if (next_signal_ != SIGKILL) return Stop(next_signal_);
    if (WaitForSaves()) return;
    SayAll(SIGKILL);
    gave_up_ = true;
    next_step_ = Clock::now() + kKillGrace;
  }

  // Supervisors on other hosts end their shards if they hear nothing.
  void KeepAlive() {
    if (Clock::now() < next_alive_) return;
    next_alive_ = Clock::now() + std::chrono::seconds(kAliveSeconds);
    for (const auto& process : processes_) Say(process.get(), {});
  }

  void SayAll(int number) {
    told_ = true;
    for (const auto& process : processes_) {
      Say(process.get(), {LaunchControl::Kind::kSignal, "", number});
    }
  }

  // The pipe holds far more than the few lines that a process is ever sent without reading them; a
  // full one is left alone.
  static void Say(Process* process, const LaunchControl& control) {
    if (process->control < 0) return;
    const std::string line = control.Format();
    pollfd writable = {process->control, POLLOUT, 0};
    if (poll(&writable, 1, 0) != 1 || (writable.revents & POLLOUT) == 0) return;
    (void)!write(process->control, line.data(), line.size());
  }

  const LaunchPlan& plan_;
  const AttemptOptions& options_;
  const std::set<pid_t> others_;  // children of this process that are no part of the launch
  std::vector<std::unique_ptr<ShardLog>> logs_;
  std::vector<std::unique_ptr<Process>> processes_;
  AttemptResult result_;
  StatusBar bar_;  // of shard 0
  int signals_ = -1;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_alive_ = start_, next_step_ = start_;
  Clock::time_point next_growth_check_ = start_ + kGrowthCheck;
  Clock::time_point last_step_ = start_;       // when even shards that save get SIGKILL
  int next_signal_ = 0;                        // what to send at next_step_; 0: nothing
  std::map<int, Clock::time_point> saved_at_;  // by shard that was told to end and writes files
  bool waits_for_saves_ = false;               // this was logged
  bool told_ = false;                          // a signal was sent
  bool gave_up_ = false;                       // SIGKILL was sent
};

}  // namespace

const ShardEnd* AttemptResult::FirstFailure() const {
  const auto failed = [](const ShardEnd& end) { return end.status != 0; };
  const bool harmful = std::any_of(ends.begin(), ends.end(), [&](const ShardEnd& end) {
    return failed(end) && !end.was_expendable;
  });
  if (!harmful) return nullptr;
  const ShardEnd* first = nullptr;
  for (const ShardEnd& end : ends) {
    if (!failed(end)) continue;
    const bool by_itself = !end.was_told && end.status != static_cast<int>(ExitCode::kPeerLost);
    if (by_itself) return &end;
    if (first == nullptr) first = &end;
  }
  return first;
}

const ShardEnd* AttemptResult::Suspect() const {
  const ShardEnd* first = FirstFailure();
  if (first == nullptr || first->status != static_cast<int>(ExitCode::kPeerLost)) return first;
  const auto told = std::find_if(ends.begin(), ends.end(), [](const ShardEnd& end) {
    return end.was_told && end.status > 128;
  });
  return told == ends.end() ? first : &*told;
}

bool AttemptResult::StoppedToGrow() const {
  if (!was_told_to_grow || signal != 0 || ok()) return false;
  return std::all_of(ends.begin(), ends.end(), [](const ShardEnd& end) {
    const bool by_signal = end.status == 128 + SIGTERM || end.status == 128 + SIGKILL;
    return end.status == 0 || (end.was_told && by_signal) ||
           end.status == static_cast<int>(ExitCode::kPeerLost);
  });
}

std::string LogPath(const std::string& log_dir, int shard) {
  return MakeString(log_dir, "/shard-", shard, ".log");
}

AttemptResult RunAttempt(const LaunchPlan& plan, const AttemptOptions& options) {
  return Attempt(plan, options).Run();
}

}  // namespace caffe2

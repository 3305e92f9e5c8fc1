#include "distributed/launcher/process_tree.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"

namespace caffe2 {

namespace {

constexpr milliseconds kPoll{20};
constexpr milliseconds kKillTime{10000};  // a process that waits for a disk may never end
constexpr int kLastSignal = 64;

std::vector<char*> PointersTo(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

cpu_set_t MaskOf(const CoreSet& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int core : cores) {
    if (core < CPU_SETSIZE) CPU_SET(core, &mask);
  }
  return mask;
}

// What the forked child needs; all memory is allocated before fork().
struct ChildPlan {
  const char* file;
  char* const* words;
  char* const* environment;
  int streams[3];
  pid_t parent;
  int report;  // the child writes errno here if it cannot start the program
  cpu_set_t mask;
};

// Calls only async-signal-safe functions, because other threads may have held locks at fork().
[[noreturn]] void BecomeProgram(const StartOptions& options, const ChildPlan& plan) {
  if (options.new_session) setsid();
  if (options.new_group) setpgid(0, 0);
  for (int number = 1; number <= kLastSignal; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (options.dies_with_parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (options.dies_with_parent && getppid() != plan.parent) _exit(127);
  if (!options.cores.empty()) sched_setaffinity(0, sizeof plan.mask, &plan.mask);
  bool ready = true;
  for (int stream = 0; stream < 3; ++stream) ready &= dup2(plan.streams[stream], stream) >= 0;
  if (ready) {
    const auto report = static_cast<unsigned>(plan.report);
    if (report > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, report - 1, 0);
    close_range(report + 1, ~0U, 0);
    execve(plan.file, plan.words, plan.environment);
  }
  const int error = errno;
  (void)!write(plan.report, &error, sizeof error);
  _exit(127);
}

// A copy of the descriptor with a number of at least `first`, closed by exec.
int CopyAbove(int fd, int first) { return fcntl(fd, F_DUPFD_CLOEXEC, first); }

struct ProcessEntry {
  pid_t parent = 0;
  char state = '?';
};

// All processes that /proc shows.
std::map<pid_t, ProcessEntry> AllProcesses() {
  std::map<pid_t, ProcessEntry> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    // "17 (name, which may contain anything) S 1 ..."
    if (!std::getline(file, text, '\0') || text.rfind(')') == std::string::npos) continue;
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    ProcessEntry process;
    fields >> process.state >> process.parent;
    all[std::stoi(name)] = process;
  }
  return all;
}

void AddDescendants(const std::map<pid_t, ProcessEntry>& all, pid_t pid,
                    const std::set<pid_t>& spared, std::vector<pid_t>* found) {
  for (const auto& [child, entry] : all) {
    if (entry.parent != pid || spared.count(child) != 0) continue;
    found->push_back(child);
    AddDescendants(all, child, spared, found);
  }
}

}  // namespace

std::string FindProgram(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) {
    const int error = access(name.c_str(), X_OK) == 0 ? 0 : errno;
    CheckUsage(error == 0, "cannot run ", name, ": ", std::strerror(error));
    CheckUsage(!std::filesystem::is_directory(name), "cannot run ", name, ": it is a folder");
    return name;
  }
  const auto path = environment.find("PATH");
  std::istringstream folders(path == environment.end() ? "/usr/bin:/bin" : path->second);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0 && !std::filesystem::is_directory(file)) return file;
  }
  ThrowUsage("there is no program ", name, " in PATH");
}

pid_t StartProcess(const StartOptions& options) {
  const std::string file = FindProgram(options.words.at(0), options.environment);
  std::vector<std::string> words = options.words, variables;
  for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> word_pointers = PointersTo(&words);
  const std::vector<char*> variable_pointers = PointersTo(&variables);
  int ends[2];
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || pipe2(ends, O_CLOEXEC) != 0) {
    ThrowIoError(ExitCode::kSystem, "cannot start ", file, ": ", std::strerror(errno));
  }
  ChildPlan plan{file.c_str(), word_pointers.data(), variable_pointers.data(), {}, getpid(),
                 -1,           MaskOf(options.cores)};
  const int streams[3] = {options.input, options.output, options.error};
  plan.report = CopyAbove(ends[1], STDERR_FILENO + 1);
  for (int i = 0; i < 3; ++i) {
    plan.streams[i] = CopyAbove(streams[i] < 0 ? null : streams[i], STDERR_FILENO + 1);
  }
  const pid_t pid = fork();
  if (pid == 0) BecomeProgram(options, plan);
  int error = pid < 0 ? errno : 0;
  for (const int fd :
       {ends[1], plan.report, null, plan.streams[0], plan.streams[1], plan.streams[2]}) {
    close(fd);
  }
  if (pid > 0 && read(ends[0], &error, sizeof error) > 0) waitpid(pid, nullptr, 0);
  close(ends[0]);
  if (error != 0) {
    ThrowIoError(ExitCode::kSystem, "cannot start ", file, ": ", std::strerror(error));
  }
  return pid;
}

std::set<pid_t> Children() {
  std::set<pid_t> children;
  for (const auto& [pid, entry] : AllProcesses()) {
    if (entry.parent == getpid()) children.insert(pid);
  }
  return children;
}

std::map<pid_t, int64_t> BytesWritten() {
  std::vector<pid_t> descendants;
  AddDescendants(AllProcesses(), getpid(), {}, &descendants);
  std::map<pid_t, int64_t> written;
  for (const pid_t pid : descendants) {
    std::ifstream file(MakeString("/proc/", pid, "/io"));
    std::string name;
    for (int64_t count = 0; file >> name >> count;) {
      if (name == "write_bytes:") written[pid] = count;
    }
  }
  return written;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void EndDescendants(milliseconds grace, const std::set<pid_t>& spared) {
  const Deadline deadline(grace), give_up(grace + kKillTime);
  for (int number = SIGTERM;; std::this_thread::sleep_for(kPoll)) {
    const auto all = AllProcesses();
    std::vector<pid_t> living;
    AddDescendants(all, getpid(), spared, &living);
    std::erase_if(living, [&](pid_t pid) {
      const ProcessEntry& entry = all.at(pid);
      if (entry.state != 'Z') return false;
      return entry.parent != getpid() || waitpid(pid, nullptr, WNOHANG) == pid;
    });
    if (living.empty()) return;
    if (give_up.expired()) {
      LOG(WARNING) << living.size() << " processes do not end after SIGKILL, among them pid "
                   << living[0];
      return;
    }
    if (deadline.expired()) number = SIGKILL;
    if (number != 0) {
      for (const pid_t pid : living) kill(pid, number);
    }
    if (number == SIGTERM) number = 0;  // once is enough
  }
}

int ShellExitStatus(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace caffe2

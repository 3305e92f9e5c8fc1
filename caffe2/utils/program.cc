#include "caffe2/utils/program.h"

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "caffe2/core/cpu_cores.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/ignored_signals.h"
#include "caffe2/utils/printable_text.h"
#include "caffe2/utils/stderr_stream.h"
#include "caffe2/utils/version.h"

// In gflags' library, though in none of its headers.
namespace GFLAGS_NAMESPACE {
extern void (*gflags_exitfunc)(int);
}

namespace caffe2 {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// True if one of gflags' own bool flags is set.
bool IsSet(const char* flag) {
  std::string value;
  return gflags::GetCommandLineOption(flag, &value) && value == "true";
}

void PrintVersion(const std::string& program) {
  std::printf("%s, Doppio %s\n%s", program.c_str(), VersionAndCommit().c_str(),
              BuildOptions().c_str());
}

std::map<std::string, std::string>& AdoptedFlags() {
  static auto* flags = new std::map<std::string, std::string>;
  return *flags;
}

// How often an idle OpenMP thread looks for work before it sleeps. libgomp's default is about a
// millisecond, in which a thread that shares its core holds up the one that it waits for.
constexpr char kIdleSpins[] = "5000";

void ConfigureThreads(char** argv) {
  if (getenv("OMP_WAIT_POLICY") == nullptr && getenv("GOMP_SPINCOUNT") == nullptr) {
    setenv("GOMP_SPINCOUNT", kIdleSpins, 1);
    execv("/proc/self/exe", argv);  // returns only if it fails: then with the default
  }
  if (getenv("OMP_NUM_THREADS") == nullptr && AvailableCores() < omp_get_max_threads()) {
    omp_set_num_threads(AvailableCores());
  }
}

int Fail(const std::string& program, std::string message, ExitCode code) {
  if (!VLOG_IS_ON(1)) message = WithoutCodePlaces(std::move(message));
  // One line, and nothing that a name in a file makes the terminal do.
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::replace(message.begin(), message.end(), '\t', '?');
  std::fprintf(stderr, "%s: %s\n", program.c_str(), PrintableText(message).c_str());
  return static_cast<int>(code);
}

// Thrown where gflags would end the process: with status 1 if a flag is unknown or has a wrong
// value, which it has said by then, and with 0 after one of its own kinds of help.
struct FlagsExit {
  int status;
};
[[noreturn]] void ThrowFlagsExit(int status) {
  throw FlagsExit{status == 0 ? 0 : static_cast<int>(ExitCode::kUsage)};
}

// Sets the flags. Returns the status with which the program is to end at once, if it is.
std::optional<int> SetFlags(int* argc, char*** argv, const std::string& program,
                            const std::string& usage, const ProgramHelp& help) {
  GFLAGS_NAMESPACE::gflags_exitfunc = ThrowFlagsExit;
  try {
    gflags::ParseCommandLineNonHelpFlags(argc, argv, /*remove_flags=*/true);
    if (IsSet("help") || IsSet("helpshort")) {
      std::fputs(HelpText(program, usage, help).c_str(), stdout);
      return 0;
    }
    if (IsSet("version")) {
      PrintVersion(program);
      return 0;
    }
    gflags::HandleCommandLineHelpFlags();
  } catch (const FlagsExit& exit) {
    return exit.status;
  }
  return std::nullopt;
}

}  // namespace

std::string ShownText(const std::string& text) {
  constexpr size_t kMaxShown = 60;
  std::string shown = text.substr(0, kMaxShown);
  for (char& c : shown) c = c >= ' ' && c <= '~' ? c : '?';
  return shown + (text.size() > kMaxShown ? "..." : "");
}

std::string WithoutCodePlaces(std::string message) {
  constexpr char kBegin[] = " [enforce fail at ";
  size_t begin;
  while ((begin = message.find(kBegin)) != std::string::npos) {
    const size_t end = message.find(']', begin);
    message.erase(begin, end == std::string::npos ? end : end + 1 - begin);
  }
  return message;
}

bool AdoptFlag(const std::string& name, const std::string& description) {
  AdoptedFlags()[name] = description;
  return true;
}

std::vector<gflags::CommandLineFlagInfo> ProgramFlags() {
  std::vector<gflags::CommandLineFlagInfo> all, own;
  gflags::GetAllFlags(&all);
  for (gflags::CommandLineFlagInfo& flag : all) {
    const auto adopted = AdoptedFlags().find(flag.name);
    if (adopted != AdoptedFlags().end()) {
      flag.description = adopted->second;
    } else if (flag.filename.find("examples/") == std::string::npos &&
               flag.filename.find("benchmarks/") == std::string::npos) {
      continue;
    }
    own.push_back(flag);
  }
  std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return own;
}

int RunProgram(int* argc, char*** argv, const std::string& usage, const std::function<int()>& body,
               const ProgramOptions& options) {
  RestoreIgnoredSignals();  // also for the process that ConfigureThreads starts
  ConfigureThreads(*argv);
  std::signal(SIGPIPE, SIG_IGN);
  KeepStderrFromBlocking();
  const std::string program = BaseName((*argv)[0]);
  gflags::SetArgv(*argc, const_cast<const char**>(*argv));
  gflags::SetUsageMessage(usage);
  FLAGS_logtostderr = true;

  // Static, because gflags leaves pointers to these words in argv.
  static std::vector<std::string> words;
  static std::vector<char*> pointers;
  try {
    words = ExpandFlags({*argv, *argv + *argc}, options.recipe, options.advice);
  } catch (const std::exception& error) {
    return Fail(program, error.what(), ExitCodeOf(error));
  }
  pointers.clear();
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  *argc = static_cast<int>(words.size());
  *argv = pointers.data();
  const auto status = SetFlags(argc, argv, program, usage, options.help);
  if (status) return *status;
  return RunCaught(program, [&] {
    if (*argc > 1 && options.arguments == Arguments::kFlagsOnly) {
      ThrowUsage("unexpected argument \"", (*argv)[1],
                 "\": flags are written --name=value (see --help)");
    }
    return body();
  });
}

int RunCaught(const std::string& program, const std::function<int()>& body) {
  static const std::string log_name = program;  // glog keeps the pointer
  google::InitGoogleLogging(log_name.c_str());
  std::signal(SIGXFSZ, SIG_IGN);
  int status = 0;
  try {
    status = body();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      ThrowIoError(ExitCode::kCannotWrite, "cannot write the output: ", std::strerror(errno));
    }
  } catch (const std::exception& error) {
    status = Fail(program, error.what(), ExitCodeOf(error));
  } catch (...) {
    status = Fail(program, "unknown exception", ExitCode::kInternal);
  }
  google::ShutdownGoogleLogging();
  return status;
}

}  // namespace caffe2

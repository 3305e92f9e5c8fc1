// The common part of every main: parses flags, starts the log, catches exceptions in one place.
#pragma once

#include <gflags/gflags.h>

#include <functional>
#include <string>
#include <vector>

#include "caffe2/utils/flag_words.h"
#include "caffe2/utils/program_help.h"

namespace caffe2 {

enum class Arguments { kFlagsOnly, kAny };

struct ProgramOptions {
  Arguments arguments = Arguments::kFlagsOnly;  // kAny: arguments without dashes stay in argv
  FlagAdvice advice = nullptr;                  // as in ExpandFlags()
  RecipeFunction recipe = nullptr;              // likewise
  ProgramHelp help = {};
};

// Parses the command line (ExpandFlags(), then gflags), starts the log (glog, to stderr) and runs
// `body`. Returns the exit status for main: the result of `body` or, after an exception, its
// ExitCodeOf (caffe2/core/exit_code.h). The exception is printed to stderr as one line "<program>:
// <message>"; the places of failed checks in the code are left out unless --v is at least 1.
// Removes the flags from argv.
//
// `--help` prints `usage` and the program's own flags in the groups of `options.help`, `--version`
// the version, the commit and the options of the build; both return 0 without running `body`. An
// unknown flag and a wrong value return 64, also beside these two. SIGPIPE and SIGXFSZ are ignored,
// so that writing to a closed pipe or socket, or beyond the limit on file sizes, is an ordinary
// error. A full pipe at stderr does not block the program (stderr_stream.h).
//
// OpenMP loops use the cores that the process may use (caffe2/core/cpu_cores.h), unless
// OMP_NUM_THREADS is set. Idle OpenMP threads soon go to sleep, so that they do not take the cores
// of other processes. OpenMP reads this setting only when a program starts, so RunProgram sets
// GOMP_SPINCOUNT and starts the program once more, under the same process id. It does not if the
// user has set OMP_WAIT_POLICY or GOMP_SPINCOUNT.
//
//   int main(int argc, char** argv) {
//     return caffe2::RunProgram(&argc, &argv, "Prints ...", [&] { ...; return 0; });
//   }
int RunProgram(int* argc, char*** argv, const std::string& usage, const std::function<int()>& body,
               const ProgramOptions& options = {});

// Makes a flag that a library defines, such as glog's log_dir, a flag of the program: --help lists
// it with this description. Returns true, so that it may initialize a constant. Call it before
// RunProgram.
bool AdoptFlag(const std::string& name, const std::string& description);
// The program's own flags (defined in files under examples/ or benchmarks/) and the adopted flags,
// sorted by name, with their values.
std::vector<gflags::CommandLineFlagInfo> ProgramFlags();

// Removes every " [enforce fail at <file>:<line>]" from an error's text: they tell a user nothing.
std::string WithoutCodePlaces(std::string message);

// Text of a file for an error: the first 60 bytes, with ? for what a terminal may not show.
std::string ShownText(const std::string& text);

// The part of RunProgram after the flags: starts the log, ignores SIGXFSZ, runs `body` and turns
// exceptions into a line and an exit status. For programs that parse their arguments themselves.
int RunCaught(const std::string& program, const std::function<int()>& body);

}  // namespace caffe2

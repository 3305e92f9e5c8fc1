// What every program's main does: flags, logs, one place that catches.
#pragma once

#include <functional>
#include <string>

namespace caffe2 {

// Parses the command line (gflags), starts the log (glog, to stderr) and runs `body`; returns the
// exit status for main: what `body` returned, or 1 after an exception, of which one line
// "<program>: <message>" goes to stderr. What is left in argv are the program name and, where the
// program takes such, the arguments that are no flags; elsewhere they are errors.
//
// `--help` prints `usage` and the program's own flags and returns 0 without running `body`. Bool
// flags may be followed by their value as a word of its own: `--use_cpu True`. An unknown flag
// ends the process with gflags' message and status 1. SIGPIPE and SIGXFSZ are ignored: writing to a
// closed pipe or socket, or more than a file may hold, is an ordinary error.
//
// OpenMP loops use the cores that the process may use (caffe2/core/cpu_cores.h), unless
// OMP_NUM_THREADS says otherwise. Their idle threads sleep soon, so that they do not take the cores
// of other processes: OpenMP reads this only as a program starts, so the program starts itself once
// more with GOMP_SPINCOUNT set, under the same process id. A user's OMP_WAIT_POLICY or
// GOMP_SPINCOUNT counts more.
//
//   int main(int argc, char** argv) {
//     return caffe2::RunProgram(&argc, &argv, "Prints ...", [&] { ...; return 0; });
//   }
enum class Arguments { kFlagsOnly, kAny };
int RunProgram(int* argc, char*** argv, const std::string& usage, const std::function<int()>& body,
               Arguments arguments = Arguments::kFlagsOnly);

}  // namespace caffe2

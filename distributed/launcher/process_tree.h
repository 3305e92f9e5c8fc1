// Starts processes and ends whole trees of them.
//
// A process that has called AdoptOrphans() becomes the parent of every descendant whose parent
// ends. So it can find and end all of them, even in sessions of their own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe2/core/cpu_cores.h"
#include "distributed/launch_environment.h"
#include "distributed/store_handler.h"

namespace caffe2 {

struct StartOptions {
  std::vector<std::string> words;  // the program, found in PATH, and its arguments
  Environment environment;
  // Become the standard streams of the process; -1: /dev/null.
  int input = -1, output = -1, error = -1;
  bool new_session = false;  // a session of its own, which signals of the terminal do not reach
  bool new_group = false;    // a process group of its own
  bool dies_with_parent = false;  // SIGKILL when the thread that starts it ends
  CoreSet cores = {};             // its affinity mask; empty: as this process
};

// Starts the process with no signal blocked and no other file descriptor open. Throws UsageError if
// there is no such program, and IoError (kSystem) if it cannot be started. May be called while
// other threads run.
pid_t StartProcess(const StartOptions& options);

// The path of a program, looked up as a shell does. Throws UsageError if there is none.
std::string FindProgram(const std::string& name, const Environment& environment);

// The children of this process.
std::set<pid_t> Children();
void AdoptOrphans();
// How many bytes each descendant of this process has written to disks so far. Processes of other
// users are left out.
std::map<pid_t, int64_t> BytesWritten();
// Sends SIGTERM to all descendants of this process, except `spared` and their descendants. After
// `grace` sends SIGKILL to the rest. Returns once all are gone, or 10 s after the SIGKILL, with a
// warning in the log. Reaps only children that it has ended or found dead.
void EndDescendants(milliseconds grace, const std::set<pid_t>& spared = {});

// 0 to 255 as in a shell: 128 + n for signal n. `wait_status` is the status from waitpid.
int ShellExitStatus(int wait_status);

}  // namespace caffe2

// Names of temporary files, which lie beside the file that they will replace.
#pragma once

#include <cstdint>
#include <string>

namespace caffe2 {

// "<host>.<boot>.<pid namespace>": names the processes among which process numbers are unique. The
// name of a host is not enough: containers and machines may share one.
std::string PidScope();

// True if `name` begins with `prefix` and the number of a process that does not run, as far as this
// process sees: in a container only its own processes. More text may follow.
bool IsOfDeadProcess(const std::string& name, const std::string& prefix);

// ".tmp.<pid_scope>.<pid>": how the names of a process's temporary files end.
std::string TemporarySuffix(const std::string& pid_scope, int64_t pid);

// "<path>.tmp.<PidScope()>.<pid>", for a file or directory of this process. Removes such files of
// processes of this scope that no longer run: they were killed before they could clean up. Files
// that were left when the machine itself went down stay.
std::string TemporaryPath(const std::string& path);

// Why a file at `path`, or a temporary file beside it, cannot be written, in words: "there is no
// folder /data" if that is the reason, else the text of `error` (errno).
std::string WriteProblem(const std::string& path, int error);

}  // namespace caffe2

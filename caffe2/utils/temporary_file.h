// Names of temporary files, which lie beside the file that they will replace.
#pragma once

#include <cstdint>
#include <string>

namespace caffe2 {

// "<host>.<boot>.<pid namespace>": identifies the set of processes in which process ids are unique.
// A host name is not enough: containers and machines may share one.
std::string PidScope();

// True if `name` begins with `prefix` and then the id of a process that does not run, as far as
// this process sees (in a container it sees only the container's processes). More text may follow.
bool IsOfDeadProcess(const std::string& name, const std::string& prefix);

// True if `name` is a name that TemporaryPath gives to the process with this id of this scope.
bool IsTemporaryOf(const std::string& name, const std::string& pid_scope, int64_t pid);

// "<path>.tmp.<PidScope()>.<pid>.<16 hexadecimal digits>", a new name for a file or folder of this
// process. The digits are random, so nobody can put a link there before. Removes such files of
// processes of this scope that no longer run: they were killed before they could clean up. Files
// that were left when the machine itself went down stay.
std::string TemporaryPath(const std::string& path);

// Makes a file for reading and writing. It gets the permissions `mode`, less the ones that the
// umask takes away. It must not exist, not even as a link. Returns its descriptor, or -1 with
// errno.
int CreateNewFile(const std::string& path, int mode);

// `text` with the names from TemporaryPath of this process replaced by the paths that they stand
// for. For errors: they must name the user's file.
std::string WithoutTemporaryNames(const std::string& text);

// Says why a file at `path`, or a temporary file beside it, cannot be written: "there is no folder
// /data" if that is the reason, else the system's text for `error` (errno).
std::string WriteProblem(const std::string& path, int error);

}  // namespace caffe2

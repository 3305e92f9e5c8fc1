// Ends a process that cannot end by itself.
#pragma once

#include <string>

namespace caffe2 {

// The names, states and kernel functions of this process's threads, a line for each.
std::string DescribeThreads();

// If the process has not ended `seconds` from now, prints `reason` and DescribeThreads() to stderr
// and ends the process with `status`, without running destructors: a thread must be hanging in a
// system call, for example in a read from a disk that does not answer. A process that is still
// writing a file (CountedWrites) gets more time: it ends once it has written nothing for `seconds`,
// but at most ten minutes from now. With 0 seconds the process ends at once and prints only the
// reason. A stderr that takes no text delays the end by three seconds. Only the first call has an
// effect. Only for programs that must end after a failure; a library must not call it. Thread-safe.
void EndProcessAfter(double seconds, const std::string& reason, int status);

}  // namespace caffe2

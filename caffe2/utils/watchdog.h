// Ends a process that cannot end by itself.
#pragma once

#include <string>

namespace caffe2 {

// The names, states and kernel functions of this process's threads, a line for each.
std::string DescribeThreads();

// If the process has not ended `seconds` from now, prints `reason` and DescribeThreads() to stderr
// and ends it with `status`, without destructors: a thread hangs in a system call, for example in a
// read from a disk that does not answer. With 0 seconds it is ended at once, and only the reason is
// printed. A process that saves a file then (CountedWrites) may go on
// until it has not written for `seconds`, ten minutes at most. Only the first call has an effect.
// Only for programs that must end after a failure; a library must not call it. Thread-safe.
void EndProcessAfter(double seconds, const std::string& reason, int status);

}  // namespace caffe2

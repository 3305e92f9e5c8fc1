// Exit statuses of programs. They tell a launcher whether to run the program again.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "caffe2/core/logging.h"

namespace caffe2 {

// Numbers follow sysexits.h where it has the same meaning. If a signal ends a program, the status
// is 128 + the number of the signal.
enum class ExitCode {
  kDone = 0,
  kUsage = 64,             // a wrong or missing flag or variable
  kBadData = 65,           // a damaged file, a wrong net or record, a loss that is not a number
  kNoInput = 66,           // an input file or database is not there or cannot be read
  kStoreUnreachable = 69,  // no connection to the store through which the shards find each other
  kInternal = 70,          // an unexpected error, probably a bug
  kSystem = 71,            // not enough memory, file descriptors, processes or devices
  kCannotWrite = 73,       // an output file cannot be written, for instance on a full disk
  kIo = 74,                // another error of a file, a socket or the network
  kPeerLost = 75,          // another shard died or failed: the run may be tried again
  kDisagreement = 76,      // the shards have different settings
  kNotPermitted = 77,      // a wrong password, a run_id in use, a file of another user
};

// A second base class, besides Error, of exceptions that carry an exit code.
class HasExitCode {
 public:
  explicit HasExitCode(ExitCode code) : code_(code) {}
  ExitCode exit_code() const { return code_; }

 private:
  ExitCode code_;
};

// An exception of type Base with a code: throw WithExitCode<IoError>(ExitCode::kBadData, text).
template <typename Base>
class WithExitCode : public Base, public HasExitCode {
 public:
  WithExitCode(ExitCode code, std::string message) : Base(std::move(message)), HasExitCode(code) {}
};

template <typename... Args>
[[noreturn]] void ThrowIoError(ExitCode code, const Args&... args) {
  throw WithExitCode<IoError>(code, MakeString(args...));
}

// The exit code for an exception that ends a program: the code that it carries, else a code by its
// type: kUsage for UsageError, kBadData for EnforceNotMet, kPeerLost for TimeoutError, kIo for
// IoError, kSystem for OutOfMemoryError, std::bad_alloc and std::system_error, kInternal for all
// others.
ExitCode ExitCodeOf(const std::exception& error);
// kCannotWrite if `error` (errno) says that a file cannot be written: no space or quota left, a
// file too large, no permission, a read-only file system, a missing directory. kIo otherwise.
ExitCode WriteErrorCode(int error);
// "peer lost" for 75, "signal 9 (Killed)" for 137, "" for statuses without a name.
std::string DescribeExitStatus(int status);

}  // namespace caffe2

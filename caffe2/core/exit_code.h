// Exit statuses of programs. They tell a launcher whether to try again.
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
  kStoreUnreachable = 69,  // the store where the shards meet
  kInternal = 70,          // an unexpected error, probably a bug
  kSystem = 71,            // not enough memory, file descriptors, processes or devices
  kCannotWrite = 73,       // an output file, a full disk
  kIo = 74,                // another error of a file, a socket or the network
  kPeerLost = 75,          // another shard died or failed: the run may be tried again
  kDisagreement = 76,      // the shards have different settings
  kNotPermitted = 77,      // a wrong password, a run_id in use, a file of another user
};

// A second base class, besides Error, for exceptions that know their code.
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

// The code of an exception that ends a program: its own if it has one, else by type: kUsage for
// UsageError, kBadData for EnforceNotMet, kPeerLost for TimeoutError, kIo for IoError, kSystem for
// out of memory and std::system_error, kInternal for all others.
ExitCode ExitCodeOf(const std::exception& error);
// kCannotWrite if `error` (errno) says that a file cannot be written: no space, no permission, a
// read-only file system, a missing directory; otherwise kIo.
ExitCode WriteErrorCode(int error);
// "peer lost" for 75, "signal 9 (Killed)" for 137, "" for statuses without a name.
std::string DescribeExitStatus(int status);

}  // namespace caffe2

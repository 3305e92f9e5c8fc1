#include "caffe2/core/exit_code.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/usage_error.h"

namespace caffe2 {

namespace {

template <typename T>
bool Is(const std::exception& error) {
  return dynamic_cast<const T*>(&error) != nullptr;
}

const char* NameOf(ExitCode code) {
  switch (code) {
    case ExitCode::kDone:
      return "done";
    case ExitCode::kUsage:
      return "wrong flags or variables";
    case ExitCode::kBadData:
      return "bad data";
    case ExitCode::kNoInput:
      return "no input";
    case ExitCode::kStoreUnreachable:
      return "store unreachable";
    case ExitCode::kInternal:
      return "internal error";
    case ExitCode::kSystem:
      return "out of memory or another resource";
    case ExitCode::kCannotWrite:
      return "cannot write";
    case ExitCode::kIo:
      return "input/output error";
    case ExitCode::kPeerLost:
      return "peer lost";
    case ExitCode::kDisagreement:
      return "the shards disagree";
    case ExitCode::kNotPermitted:
      return "not permitted";
  }
  return "";
}

}  // namespace

ExitCode ExitCodeOf(const std::exception& error) {
  if (const auto* coded = dynamic_cast<const HasExitCode*>(&error)) return coded->exit_code();
  if (Is<UsageError>(error)) return ExitCode::kUsage;
  if (Is<EnforceNotMet>(error)) return ExitCode::kBadData;
  if (Is<TimeoutError>(error)) return ExitCode::kPeerLost;
  if (Is<IoError>(error)) return ExitCode::kIo;
  if (Is<OutOfMemoryError>(error) || Is<std::bad_alloc>(error) || Is<std::system_error>(error)) {
    return ExitCode::kSystem;
  }
  return ExitCode::kInternal;
}

ExitCode WriteErrorCode(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EROFS:
    case EACCES:
    case EPERM:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
      return ExitCode::kCannotWrite;
    default:
      return ExitCode::kIo;
  }
}

std::string DescribeExitStatus(int status) {
  constexpr int kSignal = 128, kLastSignal = 64;
  if (status > kSignal && status <= kSignal + kLastSignal) {
    const int number = status - kSignal;
    return MakeString("signal ", number, " (", strsignal(number), ")");
  }
  return NameOf(static_cast<ExitCode>(status));
}

}  // namespace caffe2

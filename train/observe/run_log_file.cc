#include "train/observe/run_log_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/write_count.h"
#include "train/atomic_file.h"

namespace caffe2 {

RunLogFile::RunLogFile(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "ae")) {
  if (!file_) {
    ThrowIoError(ExitCode::kCannotWrite, "cannot write ", path, ": ", std::strerror(errno));
  }
}

void RunLogFile::EndLine() {
  std::ifstream file(path_, std::ios::binary);
  file.seekg(-1, std::ios::end);
  if (char last = '\n'; file.get(last) && last != '\n') Append("\n");
}

void RunLogFile::Append(const std::string& bytes) {
  if (!file_) return;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size() &&
                       std::fflush(file_.get()) == 0;
  CountWrite();
  if (written) return;
  LOG(WARNING) << "Cannot write " << path_ << " any more: " << std::strerror(errno)
               << ". Training goes on without it.";
  file_.reset();
}

bool WriteRunFile(const std::string& path, const std::string& contents) {
  try {
    WriteWholeFile(path, contents);
    return true;
  } catch (const IoError& failure) {
    LOG(WARNING) << failure.what() << ". Training goes on without it.";
    return false;
  }
}

void MakeLogDirectory(const std::string& flag, const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path)) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (!error && access(path.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (error) {
    ThrowIoError(ExitCode::kCannotWrite, flag, ": cannot write the folder ", path, ": ",
                 error.message());
  }
}

}  // namespace caffe2

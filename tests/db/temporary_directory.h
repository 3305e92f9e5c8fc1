// A directory for one test, removed with it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "caffe2/core/logging.h"

namespace caffe2::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "caffe2_test_XXXXXX").string();
    CAFFE_ENFORCE(mkdtemp(pattern.data()) != nullptr, pattern);
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string Path(const std::string& name) const {
    return (std::filesystem::path(path_) / name).string();
  }

 private:
  std::string path_;
};

}  // namespace caffe2::testing

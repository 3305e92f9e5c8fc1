// Fuzz targets: functions that take any bytes in place of what a file, a server or a launcher
// gives.
//
// A target hands the bytes to the code that reads them. An exception derived from caffe2::Error is
// a good answer; any other exception, a signal, a report of a sanitizer and a failed CHECK are
// findings. The same targets run under libFuzzer (scripts/fuzz.sh) and in fuzz_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caffe2/core/logging.h"

namespace caffe2::testing {

struct FuzzTarget {
  std::string name;                    // its corpus is tests/fuzz/corpus/<name>
  int (*run)(std::string_view bytes);  // returns 0; catches caffe2::Error
  int mutations;                       // how many fuzz_test.cc runs: fewer for slow targets
};

// All targets of this program, by name.
const std::vector<FuzzTarget>& FuzzTargets();

// Adds a target; a static object of its file.
struct FuzzRegisterer {
  explicit FuzzRegisterer(const FuzzTarget& target);
};

// A file in memory with these bytes, for code that reads files.
class FuzzFile {
 public:
  explicit FuzzFile(std::string_view bytes);
  ~FuzzFile();
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;

  // Any number of readers and writers may open it while this object lives.
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

// The lines of the bytes, without their ends.
std::vector<std::string> FuzzLines(std::string_view bytes);

}  // namespace caffe2::testing

// Defines `int Fuzz<Name>(std::string_view bytes)` and registers it; the body follows.
#define FUZZ_TARGET(Name, corpus, mutations)                         \
  static void Run##Name(std::string_view bytes);                     \
  int Fuzz##Name(std::string_view bytes) {                           \
    try {                                                            \
      Run##Name(bytes);                                              \
    } catch (const ::caffe2::Error&) { /* the answer to bad input */ \
    }                                                                \
    return 0;                                                        \
  }                                                                  \
  static const ::caffe2::testing::FuzzRegisterer register_##Name(    \
      ::caffe2::testing::FuzzTarget{corpus, Fuzz##Name, mutations}); \
  static void Run##Name(std::string_view bytes)

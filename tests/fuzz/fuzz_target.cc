#include "tests/fuzz/fuzz_target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace caffe2::testing {
namespace {

std::vector<FuzzTarget>& Targets() {
  static auto* targets = new std::vector<FuzzTarget>;
  return *targets;
}

}  // namespace

const std::vector<FuzzTarget>& FuzzTargets() {
  std::sort(Targets().begin(), Targets().end(),
            [](const FuzzTarget& a, const FuzzTarget& b) { return a.name < b.name; });
  return Targets();
}

FuzzRegisterer::FuzzRegisterer(const FuzzTarget& target) { Targets().push_back(target); }

FuzzFile::FuzzFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
  CHECK_GE(fd_, 0) << "no file in memory";
  CHECK_EQ(write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  path_ = "/proc/self/fd/" + std::to_string(fd_);
}

FuzzFile::~FuzzFile() { close(fd_); }

std::vector<std::string> FuzzLines(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    lines.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return lines;
}

}  // namespace caffe2::testing

#ifdef CAFFE2_FUZZ  // the program of scripts/fuzz.sh; FUZZ_TARGET names the target
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using caffe2::testing::FuzzTarget;
  static const FuzzTarget target = [] {
    const char* name = std::getenv("FUZZ_TARGET");
    CHECK(name != nullptr) << "FUZZ_TARGET is not set";
    FLAGS_minloglevel = google::FATAL;
    for (const FuzzTarget& each : caffe2::testing::FuzzTargets()) {
      if (each.name == name) return each;
    }
    LOG(FATAL) << "no fuzz target " << name;
  }();
  return target.run({reinterpret_cast<const char*>(data), size});
}
#endif

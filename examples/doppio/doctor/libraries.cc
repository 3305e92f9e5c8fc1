// This build, its libraries, and GPUs.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "caffe2/core/device_backend.h"
#include "caffe2/utils/library_versions.h"
#include "caffe2/utils/version.h"
#include "db/image/image_codec.h"
#include "examples/doppio/doctor/checks.h"

namespace caffe2::doctor {
namespace {

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15 ..." has the version as the first word
// with a dot. Empty without a driver.
std::string NvidiaDriver() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    if (word.find('.') != std::string::npos) return word;
  }
  return "";
}

// The models of the GPUs that the driver lists, "2 x NVIDIA H100".
std::string NvidiaModels() {
  std::map<std::string, int> counts;
  std::error_code error;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    std::ifstream file(gpu.path() / "information");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("Model:", 0) == 0) ++counts[line.substr(line.find_first_not_of(" \t", 6))];
    }
  }
  std::string text;
  for (const auto& [model, count] : counts) {
    text += MakeString(text.empty() ? "" : ", ", count, " x ", model);
  }
  return text;
}

}  // namespace

Findings CheckVersions() {
  std::istringstream options(BuildOptions());
  std::string build = VersionAndCommit();
  for (std::string line; std::getline(options, line);) build += "; " + line;
  std::string libraries;
  for (const LibraryVersion& each : LibraryVersions()) {
    libraries += (libraries.empty() ? "" : ", ") + each.name + " " + each.version;
  }
  return {Ok("doppio", build), Ok("libraries", libraries)};
}

Findings CheckImageFormats() {
  const std::string problem = db::OtherFormatsProblem();
  if (problem.empty()) return {Ok("image formats", "JPEG, PNG, WebP, BMP, TIFF, PNM")};
  return {Warning("image formats", "JPEG only: " + problem,
                  "convert other files to JPEG, or install the .deb")};
}

Findings CheckGpus() {
  const std::string driver = NvidiaDriver();
  const int usable = NumDevices(CUDA);
  if (usable > 0) {
    return {Ok("GPUs", MakeString(usable, " usable: ", NvidiaModels(), ", driver ", driver))};
  }
  const std::string problem = DeviceProblem(CUDA);
  if (driver.empty()) return {Ok("GPUs", "none (" + problem + "): train with --use_cpu")};
  return {Warning("GPUs",
                  "driver " + driver + ", " + NvidiaModels() + ", but none is usable: " + problem,
                  "mend what the text names, or train with --use_cpu")};
}

}  // namespace caffe2::doctor

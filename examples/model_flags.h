// Takes flags from the model that --evaluate tests. A header of programs that define
// trainer_flags.h's flags.
#pragma once

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "train/predictor.h"

namespace caffe2 {

// What the exported model at `path` records, by the names of flags. Throws as DescribePredictor.
inline std::map<std::string, std::string> FlagsOfModel(const std::string& path) {
  const Predictor model = DescribePredictor(path);
  std::map<std::string, std::string> flags;
  for (const char* name : {"image_size", "image_scale", "num_channels", "num_labels", "small_stem",
                           "hidden", "order", "mean", "std"}) {
    const auto found = model.application_info.find(name);
    if (found != model.application_info.end()) flags[name] = found->second;
  }
  const auto network = model.application_info.find("network");
  if (network != model.application_info.end()) {
    flags["model"] = flags["network"] = network->second;  // each trainer has one of both
  }
  const size_t labels = model.ClassNames().size();
  if (labels > 0) flags.emplace("num_labels", std::to_string(labels));
  return flags;
}

// Sets the flags of this program that are not given and that the model at `path` records. Logs
// which. Logs a warning if there is no such file, which is an error later on the shard that reads
// it. Throws as FlagsOfModel, and IoError for a value that a flag cannot have.
inline void TakeFlagsFromModel(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    LOG(WARNING) << "There is no model " << path << " here: --model, --image_size and other flags "
                 << "that it records must be given";
    return;
  }
  std::string taken;
  for (const auto& [name, value] : FlagsOfModel(path)) {
    gflags::CommandLineFlagInfo flag;
    if (!gflags::GetCommandLineFlagInfo(name.c_str(), &flag) || !flag.is_default) continue;
    if (flag.current_value == value) continue;
    const bool printable = std::all_of(value.begin(), value.end(),
                                       [](unsigned char c) { return std::isprint(c) != 0; });
    if (!printable || gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
      ThrowIoError(ExitCode::kBadData, path, " records a value for --", name,
                   " that this flag cannot have: give --", name);
    }
    taken += " --" + name + "=" + value;
  }
  if (!taken.empty()) LOG(INFO) << "Flags that are not given come from " << path << ":" << taken;
}

}  // namespace caffe2

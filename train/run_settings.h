// What of a run's options must be alike, on all shards or when it is resumed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/core/logging.h"
#include "train/options.h"

namespace caffe2 {

// "500,500".
template <typename T>
std::string CommaList(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ",") + MakeString(value);
  return text;
}

// The settings that all shards must agree on and that a resumed run must not change, by the names
// of their flags.
std::map<std::string, std::string> RunSettings(const TrainOptions& options);
// True for the settings of the network and of its images, on which the test of a model depends.
bool IsTestSetting(const std::string& name);
// The settings of RunSettings, and what all shards must have alike though a resumed run may change
// it: the flags that decide when the shards exchange something, and the contents of the databases
// (DataFingerprint). Reads the databases; throws as db::CreateDB.
std::map<std::string, std::string> ShardSettings(const TrainOptions& options);

}  // namespace caffe2

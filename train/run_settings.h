// The options that must be the same on all shards, or when a run resumes.
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

// The settings that must be the same on all shards and in a resumed run, by the names of their
// flags.
std::map<std::string, std::string> RunSettings(const TrainOptions& options);
// True for the settings of the network and its images on which the test of a model depends.
bool IsTestSetting(const std::string& name);
// RunSettings, and the settings that must be the same on all shards, but that a resumed run may
// change: flags that decide when the shards exchange something, and the contents of the databases
// (DataFingerprint). Reads the databases; throws like db::CreateDB.
std::map<std::string, std::string> ShardSettings(const TrainOptions& options);

}  // namespace caffe2

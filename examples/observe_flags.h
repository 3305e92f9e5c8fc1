// The flags of the trainers that say what a run shows and records. It defines flags, so only the
// .cc file with a program's main includes it.
#pragma once

#include <gflags/gflags.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "distributed/store_url.h"
#include "train/log.h"
#include "train/observe/job_progress.h"
#include "train/observe/listeners.h"
#include "train/observe/metrics_log.h"
#include "train/observe/tensorboard_log.h"

DEFINE_int64(log_histograms_every, 0,
             "with --log_dir: iterations between histograms of all parameters; 0: none");

namespace caffe2 {

static const bool kHasLogDir =
    AdoptFlag("log_dir",
              "folder for the records of the run: curves, graph and pictures for TensorBoard, "
              "metrics.jsonl, settings.json; empty: none");

// --log_dir. The flag is glog's, for log files that the programs do not write; glog sets it by
// itself if the environment variable GOOGLE_LOG_DIR is there.
inline std::string LogDirectory() {
  const auto flag = gflags::GetCommandLineFlagInfoOrDie("log_dir");
  return flag.is_default ? "" : flag.current_value;
}

// The flags of the program, by name, with their values. A store's password is left out.
inline std::map<std::string, std::string> FlagValues(bool only_given) {
  std::map<std::string, std::string> values;
  for (const auto& flag : ProgramFlags()) {
    if (!only_given || !flag.is_default) values[flag.name] = flag.current_value;
  }
  const auto url = values.find("init_method");
  if (url != values.end() && url->second.find('@') != std::string::npos) {
    url->second = ParseStoreUrl(url->second).ToString();
  }
  return values;
}

// All flags of the program that do not have their default: "batch_size=16, train_data=...".
inline std::string DescribeFlags() {
  std::string text;
  for (const auto& [name, value] : FlagValues(/*only_given=*/true)) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  }
  return text;
}

// The path of a file in --log_dir, or in the current directory without that flag. Makes the folder.
inline std::string PathInLogDir(const std::string& name, const ShardOptions& shards) {
  if (LogDirectory().empty()) return name;
  if (shards.shard_id == 0) MakeLogDirectory("--log_dir", LogDirectory());
  return LogDirectory() + "/" + name;
}

// Adds the listeners that the flags ask for. Throws UsageError for flags that do not fit together,
// IoError (kCannotWrite) for files that cannot be written.
inline void AddObservers(const TrainOptions& options, Listeners* listeners) {
  CheckUsage(FLAGS_log_histograms_every >= 0, "--log_histograms_every is ",
             FLAGS_log_histograms_every, ", must not be negative");
  CheckUsage(FLAGS_log_histograms_every == 0 || !LogDirectory().empty(),
             "--log_histograms_every needs --log_dir");
  if (options.shards.shard_id != 0) return;
  listeners->Add(NewJobLine());
  if (!options.output.csv_path.empty()) {
    listeners->Add(std::make_unique<CsvLog>(options.output.csv_path, options.output.description));
  }
  if (LogDirectory().empty()) return;
  MakeLogDirectory("--log_dir", LogDirectory());
  listeners->Add(std::make_unique<SettingsLog>(LogDirectory(), gflags::ProgramInvocationShortName(),
                                               FlagValues(/*only_given=*/false)));
  listeners->Add(std::make_unique<MetricsLog>(LogDirectory()));
  listeners->Add(std::make_unique<TensorBoardLog>(LogDirectory(), FLAGS_log_histograms_every));
}

}  // namespace caffe2

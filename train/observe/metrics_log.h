// The records of a run for programs: metrics.jsonl and settings.json.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "caffe2/utils/json_text.h"
#include "train/observe/run_log_file.h"
#include "train/options.h"
#include "train/report.h"
#include "train/run_lock.h"

namespace caffe2 {

// Appends one line of JSON for each event to <directory>/metrics.jsonl. The member "event" is
// start, iteration, test, epoch or model; "time" is in seconds since 1970. Epochs count from 0, as
// in the log; "total_iterations" counts over the whole run. A run that starts again in the same
// directory appends a new "start". If an earlier line has a larger total_iterations than this
// "start", the run has lost the work of that line. Only one run at a time may write in a directory
// (RunLock): it has the lock once its shards have joined. If another process has taken the lock
// over, while this one was frozen, each event throws Superseded before anything is written.
class MetricsLog : public TrainListener {
 public:
  // Throws like RunLogFile.
  explicit MetricsLog(const std::string& directory);

  // Throws like RunLock. Logs a warning if the file has lines of an earlier run.
  void OnJoin(const RunIdentity& identity) override;
  void OnStart(const StartReport& report) override;
  void OnIteration(const IterationReport& report) override;
  void OnTest(const TestReport& report) override;
  void OnEpochEnd(const EpochReport& report) override;
  void OnModelSaved(const std::string& path) override;

 private:
  void Append(const JsonObject& line);

  RunLogFile file_;
  std::optional<RunLock> lock_;
  int64_t total_iterations_ = 0;
};

// Writes <directory>/settings.json when the run starts (earlier ones become settings-1.json, the
// first start, settings-2.json, ...): program, version and build, libraries with
// their versions (caffe2/utils/library_versions.h), host, run, all flags with their values (of
// --num_shards the number that the run has), and the data sets with their fingerprints
// (DataFingerprint).
class SettingsLog : public TrainListener {
 public:
  SettingsLog(std::string directory, std::string program, std::map<std::string, std::string> flags)
      : directory_(std::move(directory)), program_(std::move(program)), flags_(std::move(flags)) {}

  void OnStart(const StartReport& report) override;

 private:
  const std::string directory_, program_;
  const std::map<std::string, std::string> flags_;
};

}  // namespace caffe2

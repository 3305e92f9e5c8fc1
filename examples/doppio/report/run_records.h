// The records of a run, from the trainers' --log_dir (train/observe/metrics_log.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "examples/doppio/report/memory.h"
#include "examples/doppio/report/predictions.h"
#include "examples/doppio/report/timeline.h"

namespace caffe2::report {

// One line of metrics.jsonl: its numbers and texts by name. Numbers in lists are named
// "shards.0.images_per_second".
struct Event {
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;

  bool Has(const std::string& name) const { return numbers.count(name) != 0; }
  double Number(const std::string& name) const;  // 0 if it is missing
};

struct RunRecords {
  std::string directory;
  // Only the events that the run kept. When it restarted, earlier lines with more iterations than
  // the restart began with were lost; they are left out.
  std::vector<Event> starts, iterations, tests, epochs, models;
  int64_t unreadable_lines = 0;              // of metrics.jsonl; the last may be cut short
  std::map<std::string, std::string> facts;  // program, version, host, ... of settings.json
  std::map<std::string, std::string> flags;  // empty without settings.json
  std::optional<Predictions> predictions;    // of the last test; nullopt without predictions.json
  std::optional<Memory> memory;              // nullopt without memory.json
  std::optional<Timeline> timeline;          // nullopt without timeline.json
};

// Reads <directory>/metrics.jsonl and, if they are there, settings.json, predictions.json,
// memory.json and timeline.json. Throws IoError that says what is missing or damaged.
RunRecords ReadRunRecords(const std::string& directory);

// The mean of a number in the lines about iterations, each weighted with the time that its
// iterations took. For images per second these are all images by all their time. 0 if no line has
// the number.
double MeanOverTime(const RunRecords& run, const std::string& number);

// One result of a run: "best test accuracy", 0.98.
struct Result {
  std::string name, text;
  double value = 0;
};
// The results in the order in which pages show them.
std::vector<Result> ResultsOf(const RunRecords& run);

}  // namespace caffe2::report

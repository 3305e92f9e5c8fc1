// The sums of the timeline of a run, from timeline.json of --log_dir
// (train/observe/timeline_summary.h), and the part of a page about them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caffe2::report {

struct Timeline {
  struct Shard {
    double iterations = 0, seconds = 0;
    std::map<std::pair<std::string, std::string>, double> parts;  // seconds by category and name
  };
  std::string trace;  // the file with the timeline
  double first = 0, last = 0;
  std::vector<Shard> shards;
};

// nullopt without such a file in the directory. Throws IoError for a damaged one.
std::optional<Timeline> ReadTimeline(const std::string& directory);

// For each shard, the share of the time that operators, exchanges, input and saves took.
std::string TimelineHtml(const Timeline& timeline);

}  // namespace caffe2::report

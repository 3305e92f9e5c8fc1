// What the timeline of a run comes to, as timeline.json of --log_dir holds it
// (train/observe/timeline_summary.h), and the part of a page about it.
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

// Which operators, exchanges, input and saves took which share of the time, by shard.
std::string TimelineHtml(const Timeline& timeline);

}  // namespace caffe2::report

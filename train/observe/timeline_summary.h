// The sums of a timeline: how much time each shard spent on each activity.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caffe2 {

// The sums of one shard's spans (caffe2/utils/trace.h). Spans that overlap, because they are on
// several threads or nested, all count in full.
class ShardTimeline {
 public:
  // Adds a span; times are in nanoseconds of any clock. Operators and exchanges are summed by the
  // first word of `name`, their type ("Conv", "Allreduce"), other spans by their whole name ("wait
  // for a batch"). Iterations are only counted, and spans of whole nets are left out.
  void Add(const std::string& category, const std::string& name, int64_t start, int64_t end);

  // {"iterations": 5, "seconds": 1.2, "parts": [{"category": "operator", "name": "Conv",
  //  "count": 100, "seconds": 0.4}, ...]}. The first "seconds" is the time from the start of the
  //  first iteration to the end of the last.
  std::string Json() const;

 private:
  struct Part {
    int64_t count = 0, ns = 0;
  };
  int64_t iterations_ = 0, begin_ = 0, end_ = 0;
  std::map<std::pair<std::string, std::string>, Part> parts_;  // by category and name
};

// The contents of timeline.json, for `doppio report`: {"trace": path, "first": 11, "last": 15,
// "shards": [...]}.
std::string TimelineSummaryJson(const std::string& trace_path, int64_t first, int64_t last,
                                const std::vector<ShardTimeline>& shards);

}  // namespace caffe2

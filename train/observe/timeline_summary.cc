#include "train/observe/timeline_summary.h"

#include <algorithm>

#include "caffe2/utils/json_text.h"

namespace caffe2 {
namespace {

constexpr double kSecond = 1e9;  // in nanoseconds

// Names of exchanges and operators go on with the name of a blob, names of other spans do not.
std::string PartName(const std::string& category, const std::string& name) {
  const bool has_blob = category == "operator" || category == "exchange";
  return has_blob ? name.substr(0, name.find(' ')) : name;
}

}  // namespace

void ShardTimeline::Add(const std::string& category, const std::string& name, int64_t start,
                        int64_t end) {
  if (category == "iteration") {
    begin_ = iterations_ == 0 ? start : std::min(begin_, start);
    end_ = iterations_ == 0 ? end : std::max(end_, end);
    ++iterations_;
    return;
  }
  const std::string part = PartName(category, name);
  if (category == "operator" && part == "net") return;  // the sum of its operators
  Part& sum = parts_[{category, part}];
  ++sum.count;
  sum.ns += end - start;
}

std::string ShardTimeline::Json() const {
  std::string parts;
  for (const auto& [key, part] : parts_) {
    parts +=
        (parts.empty() ? "" : ",") + JsonObject()
                                         .Add("category", key.first)
                                         .Add("name", key.second)
                                         .Add("count", part.count)
                                         .Add("seconds", static_cast<double>(part.ns) / kSecond)
                                         .ToString();
  }
  return JsonObject()
      .Add("iterations", iterations_)
      .Add("seconds", static_cast<double>(end_ - begin_) / kSecond)
      .AddJson("parts", "[" + parts + "]")
      .ToString();
}

std::string TimelineSummaryJson(const std::string& trace_path, int64_t first, int64_t last,
                                const std::vector<ShardTimeline>& shards) {
  std::string list;
  for (const ShardTimeline& shard : shards) list += (list.empty() ? "" : ",") + shard.Json();
  return JsonObject()
      .Add("trace", trace_path)
      .Add("first", first)
      .Add("last", last)
      .AddJson("shards", "[" + list + "]")
      .ToString();
}

}  // namespace caffe2

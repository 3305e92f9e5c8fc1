#include "examples/doppio/report/timeline.h"

#include <algorithm>

#include "caffe2/core/logging.h"
#include "examples/doppio/report/json_file.h"
#include "examples/doppio/report/table.h"

namespace caffe2::report {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

Timeline TimelineOf(const Struct& object) {
  Timeline timeline;
  timeline.trace = Member(object, "trace").string_value();
  timeline.first = Member(object, "first").number_value();
  timeline.last = Member(object, "last").number_value();
  for (const Value& value : Member(object, "shards").list_value().values()) {
    const Struct& from = value.struct_value();
    Timeline::Shard& shard = timeline.shards.emplace_back();
    shard.iterations = Member(from, "iterations").number_value();
    shard.seconds = Member(from, "seconds").number_value();
    for (const Value& each : Member(from, "parts").list_value().values()) {
      const Struct& part = each.struct_value();
      shard.parts[{Member(part, "category").string_value(), Member(part, "name").string_value()}] =
          Member(part, "seconds").number_value();
    }
  }
  return timeline;
}

using Shares = std::vector<double>;  // of the time of each shard

// The shares of all parts whose category is, or is not, "operator", the largest first.
std::vector<std::pair<std::string, Shares>> SharesOf(const Timeline& timeline, bool operators) {
  std::map<std::string, Shares> by_name;
  for (size_t s = 0; s < timeline.shards.size(); ++s) {
    const Timeline::Shard& shard = timeline.shards[s];
    for (const auto& [key, seconds] : shard.parts) {
      const auto& [category, name] = key;
      if ((category == "operator") != operators) continue;
      Shares& shares = by_name[operators || category == name ? name : category + ": " + name];
      shares.resize(timeline.shards.size());
      shares[s] += seconds / std::max(shard.seconds, 1e-9);
    }
  }
  std::vector<std::pair<std::string, Shares>> sorted(by_name.begin(), by_name.end());
  const auto sum = [](const Shares& shares) {
    double all = 0;
    for (const double share : shares) all += share;
    return all;
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& a, const auto& b) { return sum(a.second) > sum(b.second); });
  return sorted;
}

// Adds what comes after the first `max` up in one part.
void Shorten(size_t max, std::vector<std::pair<std::string, Shares>>* parts) {
  if (parts->size() <= max + 1) return;
  Shares others((*parts)[0].second.size());
  for (size_t i = max; i < parts->size(); ++i) {
    for (size_t s = 0; s < others.size(); ++s) others[s] += (*parts)[i].second[s];
  }
  const size_t count = parts->size() - max;
  parts->resize(max);
  parts->emplace_back(MakeString(count, " other types"), others);
}

// A row for each part: its share on each shard, and a bar for the mean.
std::string PartsTable(const std::string& title,
                       const std::vector<std::pair<std::string, Shares>>& parts) {
  constexpr size_t kMaxShards = 8;  // columns
  if (parts.empty()) return "";
  const size_t shards = parts[0].second.size(), shown = std::min(shards, kMaxShards);
  std::string heads = Head(title);
  for (size_t s = 0; s < shown; ++s) heads += Head(MakeString("shard ", s), true);
  std::string rows =
      Row(heads + Head(MakeString("mean of ", shards, shards == 1 ? " shard" : " shards")));
  for (const auto& [name, shares] : parts) {
    std::string cells = Cell(name);
    double sum = 0;
    for (size_t s = 0; s < shards; ++s) {
      sum += shares[s];
      if (s < shown) cells += Cell(Formatted("%.1f %%", 100 * shares[s]), true);
    }
    rows += Row(cells + BarCell(sum / static_cast<double>(shards)));
  }
  return Table(rows);
}

}  // namespace

std::optional<Timeline> ReadTimeline(const std::string& directory) {
  const std::optional<Struct> object = ReadJsonFile(directory + "/timeline.json");
  return object ? std::optional(TimelineOf(*object)) : std::nullopt;
}

std::string TimelineHtml(const Timeline& timeline) {
  std::string html =
      MakeString("<h2>Timeline</h2><p class=\"note\">Shares of the time of iterations ",
                 timeline.first, " to ", timeline.last,
                 ". Exchanges, input and saves also run beside the operators, on "
                 "several threads: their shares do not add up, and may exceed 100 %. ",
                 EscapeHtml(timeline.trace), " shows each of them.</p>");
  std::vector<std::pair<std::string, Shares>> operators = SharesOf(timeline, true);
  Shorten(12, &operators);
  html += PartsTable("operators", operators);
  const std::string others = PartsTable("exchanges, input, saves", SharesOf(timeline, false));
  return html + (others.empty() ? "" : "<h3>Beside the operators</h3>" + others);
}

}  // namespace caffe2::report

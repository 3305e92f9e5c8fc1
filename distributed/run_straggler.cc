#include "distributed/run_straggler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace caffe2 {
namespace {

constexpr double kMinPart = 0.2;
constexpr double kWindow = 10;  // seconds

const std::map<std::string, double ShardTimes::*>& Fields() {
  static const auto* fields =
      new std::map<std::string, double ShardTimes::*>{{"clock", &ShardTimes::clock},
                                                      {"waiting", &ShardTimes::waiting},
                                                      {"input", &ShardTimes::input},
                                                      {"saving", &ShardTimes::saving}};
  return *fields;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The median over all shards but `shard` of a part of their time.
template <typename Part>
double MedianOfOthers(const std::vector<ShardTimes>& times, size_t shard, const Part& part) {
  std::vector<double> parts;
  for (size_t other = 0; other < times.size(); ++other) {
    if (other != shard) parts.push_back(part(times[other]));
  }
  return Median(parts);
}

double WaitingPart(const ShardTimes& times) { return times.waiting / times.clock; }
double InputPart(const ShardTimes& times) { return times.input / times.clock; }
double SavingPart(const ShardTimes& times) { return times.saving / times.clock; }
double ComputingPart(const ShardTimes& times) {
  return std::max(0.0, 1 - WaitingPart(times) - InputPart(times) - SavingPart(times));
}

}  // namespace

void ShardTimes::AddTo(RunRecord* heartbeat) const {
  for (const auto& [name, field] : Fields()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", this->*field);
    (*heartbeat)[name] = text;
  }
}

std::optional<ShardTimes> ShardTimes::Parse(const std::string& heartbeat) {
  const RunRecord record = ParseRecord(heartbeat).value_or(RunRecord());
  ShardTimes times;
  for (const auto& [name, field] : Fields()) {
    const auto word = record.find(name);
    if (word == record.end()) return std::nullopt;
    times.*field = std::strtod(word->second.c_str(), nullptr);
  }
  return times;
}

std::string Straggler::Describe(const std::string& shard_text) const {
  char text[160];
  std::snprintf(text, sizeof text,
                " holds the others back: they wait for it %.0f %% of the time; cause: %s, %.0f %% "
                "of its time (others %.0f %%)",
                100 * held_back, cause.c_str(), 100 * own_part, 100 * other_part);
  return shard_text + text;
}

Straggler FindStraggler(const std::vector<ShardTimes>& times) {
  const auto waits_less = [](const ShardTimes& a, const ShardTimes& b) {
    return WaitingPart(a) < WaitingPart(b);
  };
  const auto slowest =
      static_cast<size_t>(std::min_element(times.begin(), times.end(), waits_less) - times.begin());
  Straggler straggler;
  straggler.held_back = MedianOfOthers(times, slowest, WaitingPart) - WaitingPart(times[slowest]);
  if (!(straggler.held_back >= kMinPart)) return {};
  straggler.shard = static_cast<int>(slowest);
  double max = -1;
  const auto consider = [&](const char* cause, double (*part)(const ShardTimes&)) {
    const double own = part(times[slowest]), others = MedianOfOthers(times, slowest, part);
    if (own - others <= max) return;
    max = own - others;
    straggler.cause = cause;
    straggler.own_part = own;
    straggler.other_part = others;
  };
  consider("input", InputPart);
  consider("saving", SavingPart);
  consider("computing", ComputingPart);
  return straggler;
}

Straggler StragglerWatch::Note(const std::vector<std::string>& heartbeats) {
  std::vector<ShardTimes> reading;
  for (const std::string& heartbeat : heartbeats) {
    const auto times = ShardTimes::Parse(heartbeat);
    if (!times) return {};
    reading.push_back(*times);
  }
  readings_.push_back(reading);
  const auto covers = [&](const std::vector<ShardTimes>& start) {
    for (size_t shard = 0; shard < reading.size(); ++shard) {
      if (!(reading[shard].clock - start[shard].clock >= kWindow)) return false;
    }
    return true;
  };
  while (readings_.size() > 1 && covers(readings_[1])) readings_.pop_front();
  if (!covers(readings_.front())) return {};
  std::vector<ShardTimes> differences = reading;
  for (size_t shard = 0; shard < reading.size(); ++shard) {
    for (const auto& [name, field] : Fields()) {
      differences[shard].*field -= readings_.front()[shard].*field;
    }
  }
  return FindStraggler(differences);
}

}  // namespace caffe2

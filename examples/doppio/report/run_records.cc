#include "examples/doppio/report/run_records.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "caffe2/core/exit_code.h"
#include "examples/doppio/report/json_file.h"
#include "examples/doppio/report/table.h"
#include "examples/doppio/text.h"

namespace caffe2::report {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr char kSpeed[] = "images_per_second";  // of all shards, in a line about iterations

bool Parse(const std::string& json, Struct* object) {
  return google::protobuf::util::JsonStringToMessage(json, object).ok();
}

// A list of objects: its numbers get the names "shards.0.images_per_second" and so on.
void AddList(const std::string& name, const google::protobuf::ListValue& list, Event* event) {
  for (int i = 0; i < list.values_size(); ++i) {
    for (const auto& [member, value] : list.values(i).struct_value().fields()) {
      if (value.kind_case() != Value::kNumberValue) continue;
      event->numbers[name + "." + std::to_string(i) + "." + member] = value.number_value();
    }
  }
}

Event EventOf(const Struct& object) {
  Event event;
  for (const auto& [name, value] : object.fields()) {
    if (value.kind_case() == Value::kNumberValue) event.numbers[name] = value.number_value();
    if (value.kind_case() == Value::kStringValue) event.texts[name] = value.string_value();
    if (value.kind_case() == Value::kListValue) AddList(name, value.list_value(), &event);
  }
  return event;
}

// Forgets events after `iterations`.
void CutAfter(double iterations, std::vector<Event>* events) {
  events->erase(std::remove_if(events->begin(), events->end(),
                               [&](const Event& event) {
                                 return event.Number("total_iterations") > iterations;
                               }),
                events->end());
}

void AddEvent(const Event& event, RunRecords* run) {
  const auto kind = event.texts.find("event");
  const std::string name = kind == event.texts.end() ? "" : kind->second;
  const std::map<std::string, std::vector<Event>*> lists = {{"start", &run->starts},
                                                            {"iteration", &run->iterations},
                                                            {"test", &run->tests},
                                                            {"epoch", &run->epochs},
                                                            {"model", &run->models}};
  const auto list = lists.find(name);
  if (list == lists.end()) return;  // of a later version
  // A model that was tested by itself (--evaluate) is not a point of the curves.
  if (name == "test" && !run->iterations.empty() &&
      event.Number("total_iterations") < run->iterations.back().Number("total_iterations")) {
    return;
  }
  if (name == "start") {
    for (auto* each : {&run->iterations, &run->tests, &run->epochs, &run->models}) {
      CutAfter(event.Number("total_iterations"), each);
    }
  }
  list->second->push_back(event);
}

std::string TextOf(const Value& value) {
  if (value.kind_case() == Value::kStringValue) return value.string_value();
  if (value.kind_case() == Value::kBoolValue) return value.bool_value() ? "true" : "false";
  if (value.kind_case() != Value::kNumberValue) return "";
  char text[32];
  std::snprintf(text, sizeof(text), "%.15g", value.number_value());
  return text;
}

// Nested objects become "run.num_shards".
void AddFacts(const std::string& prefix, const Struct& object,
              std::map<std::string, std::string>* facts) {
  for (const auto& [name, value] : object.fields()) {
    if (value.kind_case() == Value::kStructValue) {
      AddFacts(prefix + name + ".", value.struct_value(), facts);
    } else if (const std::string text = TextOf(value); !text.empty()) {
      (*facts)[prefix + name] = text;
    } else if (prefix == "flags.") {
      (*facts)[prefix + name] = "none";  // as --help and --dry_run write it
    }
  }
}

// "2026-11-26 13:00:38 UTC" of the seconds since 1970.
std::string DateText(double seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[32];
  if (gmtime_r(&time, &parts) == nullptr) return "";
  return {text, std::strftime(text, sizeof(text), "%F %T UTC", &parts)};
}

void ReadSettings(const std::string& path, RunRecords* run) {
  const std::optional<Struct> settings = ReadJsonFile(path);
  if (!settings) return;
  AddFacts("", *settings, &run->facts);
  const Value& started = Member(*settings, "started");
  if (started.kind_case() == Value::kNumberValue) {
    run->facts["started"] = DateText(started.number_value());
  }
  for (auto it = run->facts.begin(); it != run->facts.end();) {
    if (it->first.rfind("flags.", 0) != 0) {
      ++it;
      continue;
    }
    run->flags[it->first.substr(6)] = it->second;
    it = run->facts.erase(it);
  }
}

const Event* BestTest(const RunRecords& run) {
  const auto best = std::max_element(
      run.tests.begin(), run.tests.end(),
      [](const Event& a, const Event& b) { return a.Number("accuracy") < b.Number("accuracy"); });
  return best == run.tests.end() ? nullptr : &*best;
}

}  // namespace

double Event::Number(const std::string& name) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second;
}

RunRecords ReadRunRecords(const std::string& directory) {
  RunRecords run;
  run.directory = directory;
  const std::string path = directory + "/metrics.jsonl";
  std::ifstream file(path);
  if (!file) {
    ThrowIoError(ExitCode::kNoInput, "there is no ", path,
                 ": give the directory that a trainer wrote with --log_dir");
  }
  for (std::string line; std::getline(file, line);) {
    Struct object;
    if (Parse(line, &object)) {
      AddEvent(EventOf(object), &run);
    } else {
      ++run.unreadable_lines;
    }
  }
  if (run.starts.empty() && run.iterations.empty() && run.tests.empty()) {
    ThrowIoError(ExitCode::kBadData, path, " has no event of a run (", run.unreadable_lines,
                 " lines that are not JSON)");
  }
  ReadSettings(directory + "/settings.json", &run);
  run.predictions = ReadPredictions(directory);
  run.memory = ReadMemory(directory);
  run.timeline = ReadTimeline(directory);
  return run;
}

double MeanOverTime(const RunRecords& run, const std::string& number) {
  double sum = 0, time = 0;
  for (const Event& event : run.iterations) {
    const double speed = event.Number(kSpeed);
    if (!event.Has(number) || speed <= 0) continue;
    // In batches per image: all batches have the same size.
    const double taken = (event.Has("iterations") ? event.Number("iterations") : 1) / speed;
    sum += event.Number(number) * taken;
    time += taken;
  }
  return time > 0 ? sum / time : 0;
}

std::vector<Result> ResultsOf(const RunRecords& run) {
  std::vector<Result> results;
  const auto add = [&](const char* name, const char* format, double value) {
    results.push_back({name, Formatted(format, value), value});
  };
  if (!run.starts.empty()) add("shards", "%.0f", run.starts.back().Number("num_shards"));
  if (!run.iterations.empty()) {
    const Event& last = run.iterations.back();
    const double iterations = std::clamp(last.Number("total_iterations"), 0., 1e15);
    results.push_back({"iterations", Grouped(static_cast<int64_t>(iterations)), iterations});
    add("last training loss", "%.4f", last.Number("loss"));
    add("images per second, mean", "%.1f", MeanOverTime(run, kSpeed));
  }
  if (const Event* best = BestTest(run)) {
    add("best test accuracy", "%.4f", best->Number("accuracy"));
    add("its epoch", "%.0f", best->Number("epoch") + 1);
    add("last test accuracy", "%.4f", run.tests.back().Number("accuracy"));
    add("last test loss", "%.4f", run.tests.back().Number("loss"));
  }
  if (!run.epochs.empty()) {
    double seconds = 0;
    for (const Event& each : run.epochs) seconds += each.Number("seconds");
    add("seconds in finished epochs", "%.1f", seconds);
  }
  return results;
}

}  // namespace caffe2::report

#include "train/observe/metrics_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "caffe2/core/cpu_cores.h"
#include "caffe2/utils/json_text.h"
#include "caffe2/utils/library_versions.h"
#include "caffe2/utils/version.h"
#include "distributed/host.h"
#include "distributed/run_record.h"
#include "train/input.h"
#include "train/shard_run.h"

namespace caffe2 {
namespace {

// Seconds since 1970, to the millisecond.
std::string TimeNow() {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", static_cast<double>(NowMs()) / 1e3);
  return text;
}

JsonObject EventLine(const std::string& name) {
  JsonObject line;
  line.Add("event", name).AddJson("time", TimeNow());
  return line;
}

// The lines "name: value" of BuildOptions().
std::map<std::string, std::string> BuildMap() {
  std::map<std::string, std::string> options;
  std::istringstream lines(BuildOptions());
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) options[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return options;
}

std::map<std::string, std::string> LibraryMap() {
  std::map<std::string, std::string> versions;
  for (const LibraryVersion& each : LibraryVersions()) versions[each.name] = each.version;
  return versions;
}

std::string HostJson() {
  const ProcessId self = ProcessId::Self();
  return JsonObject()
      .Add("name", self.host)
      .Add("pid", self.pid)
      .Add("cores", FormatCores(AffinityCores()))
      .ToString();
}

std::string RunJson(const StartReport& report) {
  return JsonObject()
      .Add("run_id", report.identity.run_id)
      .Add("generation", report.identity.generation)
      .Add("num_shards", report.options->shards.num_shards)
      .Add("devices", DescribeDevices(report.options->devices))
      .Add("began_at_epoch", report.epoch)
      .Add("began_at_iteration", report.total_iterations)
      .ToString();
}

std::string DataJson(const DataOptions& data, const std::string& source) {
  return JsonObject()
      .Add("path", source)
      .Add("type", data.db_type)
      .Add("fingerprint", DataFingerprint(data, source))
      .ToString();
}

std::string ShardsJson(const std::vector<ShardSpeed>& shards) {
  std::string json;
  for (const ShardSpeed& shard : shards) {
    json += (json.empty() ? "" : ",") + JsonObject()
                                            .Add("images_per_second", shard.images_per_second)
                                            .Add("input_wait", shard.input_wait)
                                            .Add("exchanging", shard.exchanging)
                                            .ToString();
  }
  return "[" + json + "]";
}

// Renames the settings of an earlier start to settings-1.json, or the next number that is free.
void KeepEarlierSettings(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string newest = directory + "/settings.json";
  if (!fs::exists(newest, error)) return;
  int number = 1;
  std::string kept;
  do {
    kept = MakeString(directory, "/settings-", number++, ".json");
  } while (fs::exists(kept, error));
  fs::rename(newest, kept, error);
  if (error) LOG(WARNING) << "cannot keep " << newest << " as " << kept << ": " << error.message();
}

}  // namespace

MetricsLog::MetricsLog(const std::string& directory) : file_(directory + "/metrics.jsonl") {}

// The lock is not taken before: a second start under the run_id of a live run would take it from
// that run, and then be refused.
void MetricsLog::OnJoin(const RunIdentity& identity) {
  lock_.emplace(file_.path(), identity);
  file_.EndLine();
  if (identity.writer > 0) return;  // it goes on with the records of its own run
  struct stat status = {};
  if (stat(file_.path().c_str(), &status) == 0 && status.st_size > 0) {
    LOG(WARNING) << "--log_dir has the records of an earlier run in " << file_.path()
                 << ": this run is added to them";
  }
}

void MetricsLog::Append(const JsonObject& line) {
  try {
    if (lock_) lock_->Check();
  } catch (const Superseded&) {
    throw;
  } catch (const IoError&) {
    // Nobody is known to have taken the records over.
  }
  file_.Append(line.ToString() + "\n");
}

void MetricsLog::OnStart(const StartReport& report) {
  total_iterations_ = report.total_iterations;
  Append(EventLine("start")
             .Add("run_id", report.identity.run_id)
             .Add("generation", report.identity.generation)
             .Add("num_shards", report.options->shards.num_shards)
             .Add("epoch", report.epoch)
             .Add("num_epochs", report.options->schedule.num_epochs)
             .Add("epoch_iterations", report.options->EpochIterations())
             .Add("total_iterations", report.total_iterations));
}

void MetricsLog::OnIteration(const IterationReport& report) {
  total_iterations_ = report.total_iterations;
  Append(EventLine("iteration")
             .Add("epoch", report.epoch)
             .Add("iteration", report.iteration)
             .Add("total_iterations", report.total_iterations)
             .Add("iterations", report.iterations)
             .Add("loss", report.loss)
             .Add("accuracy", report.accuracy)
             .Add("accuracy_top5", report.accuracy_top5)
             .Add("learning_rate", report.learning_rate)
             .Add("images_per_second", report.job_images_per_second)
             .Add("input_wait", report.input_wait)
             .AddJson("shards", ShardsJson(report.shards)));
}

void MetricsLog::OnTest(const TestReport& report) {
  Append(EventLine("test")
             .Add("epoch", report.epoch)
             .Add("total_iterations", report.total_iterations)
             .Add("loss", report.loss)
             .Add("accuracy", report.accuracy)
             .Add("accuracy_top5", report.accuracy_top5)
             .Add("images", report.images)
             .Add("seconds", report.seconds));
}

void MetricsLog::OnEpochEnd(const EpochReport& report) {
  JsonObject line = EventLine("epoch");
  line.Add("epoch", report.epoch)
      .Add("num_epochs", report.num_epochs)
      .Add("total_iterations", report.total_iterations)
      .Add("loss", report.loss)
      .Add("accuracy", report.accuracy)
      .Add("learning_rate", report.learning_rate)
      .Add("images", report.images)
      .Add("seconds", report.seconds);
  if (report.test_accuracy >= 0) line.Add("test_accuracy", report.test_accuracy);
  Append(line);
}

void MetricsLog::OnModelSaved(const std::string& path) {
  Append(EventLine("model").Add("path", path).Add("total_iterations", total_iterations_));
}

void SettingsLog::OnStart(const StartReport& report) {
  const DataOptions& data = report.options->data;
  std::map<std::string, std::string> flags = flags_;
  flags["num_shards"] = MakeString(report.options->shards.num_shards);  // a launcher may set it
  JsonObject settings;
  settings.Add("program", program_)
      .Add("version", Version())
      .Add("commit", Commit())
      .AddJson("build", JsonOf(BuildMap()))
      .AddJson("libraries", JsonOf(LibraryMap()))
      .AddJson("started", TimeNow())
      .AddJson("host", HostJson())
      .AddJson("run", RunJson(report))
      .AddJson("flags", JsonOf(flags))
      .AddJson("train_data", DataJson(data, data.train_data));
  if (!data.test_data.empty()) settings.AddJson("test_data", DataJson(data, data.test_data));
  KeepEarlierSettings(directory_);
  WriteRunFile(directory_ + "/settings.json", settings.ToString() + "\n");
}

}  // namespace caffe2

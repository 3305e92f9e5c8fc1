// The flags of the trainers for what a run shows and records. This header defines flags, so only
// the .cc file with a program's main includes it.
#pragma once

#include <gflags/gflags.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "caffe2/utils/program_help.h"
#include "distributed/store_url.h"
#include "train/log.h"
#include "train/observe/job_progress.h"
#include "train/observe/late_listeners.h"
#include "train/observe/listeners.h"
#include "train/observe/memory_log.h"
#include "train/observe/metrics_log.h"
#include "train/observe/metrics_server.h"
#include "train/observe/predictions_log.h"
#include "train/observe/run_metrics.h"
#include "train/observe/tensorboard_log.h"

DEFINE_int64(log_histograms_every, 0,
             "with --log_dir: iterations between histograms of all parameters; 0: none");

DEFINE_int32(log_worst_images, 40,
             "with --log_dir: number of worst-predicted test images to record in "
             "predictions.json, for `doppio report`");
DEFINE_bool(log_all_shards, false,
            "log iterations, epochs and tests on all shards, instead of on shard 0 alone (and on "
            "each worker of --param_servers)");
DEFINE_bool(memory_report, false,
            "log after the first logged iterations which blobs hold how much memory; --log_dir "
            "records it in any case");
DEFINE_string(trace, "",
              "file for a timeline of all shards, for Perfetto or chrome://tracing; empty: none");
DEFINE_string(trace_iterations, "11-15",
              "with --trace: the first and the last iteration of the timeline");
DEFINE_int32(metrics_port, 0,
             "serve metrics for Prometheus at http://ADDRESS:(port + shard id)/metrics; 0: not");
DEFINE_string(metrics_address, "127.0.0.1",
              "with --metrics_port: the address of this host where it listens; 0.0.0.0: all; "
              "whoever reaches it may read the metrics");

namespace caffe2 {

static const bool kHasLogDir =
    AdoptFlag("log_dir",
              "folder for the records of the run: curves, graph and pictures for TensorBoard, "
              "metrics.jsonl, settings.json, predictions.json; empty: none");

// --log_dir; "" unless it is given. The flag belongs to glog, whose log files the programs do not
// write. glog takes its default from the environment variable GOOGLE_LOG_DIR.
inline std::string LogDirectory() {
  const auto flag = gflags::GetCommandLineFlagInfoOrDie("log_dir");
  return flag.is_default ? "" : flag.current_value;
}

// The flags of the program, by name, with their values. A store's password is left out.
inline std::map<std::string, std::string> FlagValues(bool only_given) {
  std::map<std::string, std::string> values;
  for (const auto& flag : ProgramFlags()) {
    if (only_given && flag.is_default) continue;
    const std::string& value = flag.current_value;
    values[flag.name] = value.empty() ? "" : FlagValueText(flag.type, value);
  }
  const auto url = values.find("init_method");
  if (url != values.end() && url->second.find('@') != std::string::npos) {
    url->second = ParseStoreUrl(url->second).ToString();
  }
  return values;
}

// All flags of the program that do not have their default: "batch_size=16, train_data=...".
inline std::string DescribeFlags() {
  std::string text;
  for (const auto& [name, value] : FlagValues(/*only_given=*/true)) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  }
  return text;
}

// The path of a file in --log_dir, or in the current directory without that flag. Shard 0 makes the
// folder; throws as MakeLogDirectory().
inline std::string PathInLogDir(const std::string& name, const ShardOptions& shards) {
  if (LogDirectory().empty()) return name;
  if (shards.shard_id == 0) MakeLogDirectory("--log_dir", LogDirectory());
  return LogDirectory() + "/" + name;
}

// A RunMetrics and the server that shows it.
class ServedMetrics : public RunMetrics {
 public:
  // Throws as MetricsServer.
  ServedMetrics(const ShardOptions& shards, const std::string& address, int port)
      : RunMetrics(shards.run_id, shards.shard_id, shards.num_shards),
        server_(address, port, [this] { return Text(); }) {
    LOG(INFO) << "Metrics: http://" << address << ":" << server_.port() << "/metrics";
  }

 private:
  MetricsServer server_;  // ends before the metrics do
};

// --metrics_port and --metrics_address. Each shard has a port of its own, so that several shards of
// a host can have the same flags.
inline void AddMetrics(const ShardOptions& shards, Listeners* listeners) {
  constexpr int kMaxPort = 65535;
  const int first = FLAGS_metrics_port;
  if (first == 0) {
    CheckUsage(gflags::GetCommandLineFlagInfoOrDie("metrics_address").is_default,
               "--metrics_address needs --metrics_port");
    return;
  }
  CheckUsage(first > 0 && first <= kMaxPort - shards.shard_id, "--metrics_port is ", first,
             ": shard ", shards.shard_id, " would serve port ", int64_t{first} + shards.shard_id,
             ", must be from 1 to ", kMaxPort);
  listeners->Add(
      std::make_unique<ServedMetrics>(shards, FLAGS_metrics_address, first + shards.shard_id));
}

// Lets shard 0 note the predictions of tests, with --log_dir. Throws UsageError.
inline void SetPredictions(TrainOptions* options) {
  CheckUsage(FLAGS_log_worst_images >= 0, "--log_worst_images is ", FLAGS_log_worst_images,
             ", must not be negative");
  if (!LogDirectory().empty()) options->output.worst_images = FLAGS_log_worst_images;
}

// --trace and --trace_iterations. Throws UsageError.
inline void SetTrace(TrainOptions* options) {
  CheckUsage(
      !FLAGS_trace.empty() || gflags::GetCommandLineFlagInfoOrDie("trace_iterations").is_default,
      "--trace_iterations needs --trace");
  if (FLAGS_trace.empty()) return;
  CheckUsage(!options->shards.HasServers(), "--trace cannot be used with --param_servers");
  CheckUsage(!options->schedule.evaluate, "--trace cannot be used with --evaluate");
  const size_t dash = FLAGS_trace_iterations.find('-');
  CheckUsage(dash != std::string::npos, "--trace_iterations is ", FLAGS_trace_iterations,
             ", must be two numbers such as 11-15");
  const auto number = [](const std::string& text) -> int64_t {
    const bool digits = !text.empty() && text.size() < 16 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    CheckUsage(digits, "--trace_iterations is ", FLAGS_trace_iterations,
               ", must be two numbers such as 11-15");
    return std::stoll(text);
  };
  options->output.trace_path = FLAGS_trace;
  if (!LogDirectory().empty()) {
    options->output.trace_summary_path = LogDirectory() + "/timeline.json";
  }
  options->output.trace_first = number(FLAGS_trace_iterations.substr(0, dash));
  options->output.trace_last = number(FLAGS_trace_iterations.substr(dash + 1));
}

// Adds the listeners that write what happens to --log_dir. Throws IoError (kCannotWrite).
inline void AddLogDirectory(const TrainOptions& options, Listeners* listeners) {
  MakeLogDirectory("--log_dir", LogDirectory());
  listeners->Add(std::make_unique<MetricsLog>(LogDirectory()));  // its OnJoin locks the directory
  if (!options.data.test_data.empty()) {
    listeners->Add(std::make_unique<PredictionsLog>(LogDirectory(), options));
  }
  listeners->Add(std::make_unique<TensorBoardLog>(LogDirectory(), FLAGS_log_histograms_every));
}

// Adds the listeners that the flags ask for. Throws UsageError for flags that do not fit together,
// IoError (kCannotWrite) for files that cannot be written.
inline void AddObservers(const TrainOptions& options, Listeners* listeners) {
  CheckUsage(FLAGS_log_histograms_every >= 0, "--log_histograms_every is ",
             FLAGS_log_histograms_every, ", must not be negative");
  CheckUsage(FLAGS_log_histograms_every == 0 || !LogDirectory().empty(),
             "--log_histograms_every needs --log_dir");
  AddMetrics(options.shards, listeners);
  if (options.shards.shard_id != 0) {
    // With parameter servers each worker may have to go on with the records.
    if (!options.shards.HasServers()) return;
    const OutputOptions& output = options.output;
    if (!output.csv_path.empty()) {
      listeners->Add(std::make_unique<LateListeners>([output](Listeners* late) {
        late->Add(CsvLog::GoOn(output.csv_path, output.description));
      }));
    }
    if (!LogDirectory().empty()) {
      listeners->Add(std::make_unique<LateListeners>(
          [options](Listeners* late) { AddLogDirectory(options, late); }));
    }
    return;
  }
  listeners->Add(NewJobLine());
  if (!options.output.csv_path.empty()) {
    listeners->Add(std::make_unique<CsvLog>(options.output.csv_path, options.output.description));
  }
  if (FLAGS_memory_report || !LogDirectory().empty()) {
    listeners->Add(std::make_unique<MemoryLog>(LogDirectory(), FLAGS_memory_report));
  }
  if (LogDirectory().empty()) return;
  AddLogDirectory(options, listeners);
  listeners->Add(std::make_unique<SettingsLog>(LogDirectory(), gflags::ProgramInvocationShortName(),
                                               FlagValues(/*only_given=*/false)));
}

}  // namespace caffe2

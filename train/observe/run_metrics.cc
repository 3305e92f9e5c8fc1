#include "train/observe/run_metrics.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/utils/version.h"
#include "caffe2/utils/waiting_time.h"
#include "distributed/peer_sockets.h"
#include "distributed/run_record.h"
#include "train/options.h"

namespace caffe2 {
namespace {

constexpr const char* kStates[] = {"joining", "training", "testing", "saving", "finished"};

// The value of a label, with backslash, quotation mark and end of line escaped.
std::string LabelText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? "\\n" : std::string(1, c);
  }
  return '"' + escaped + '"';
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[40];
  std::snprintf(text, sizeof(text), "%.15g", value);
  return text;
}

class MetricsText {
 public:
  explicit MetricsText(std::string labels) : labels_(std::move(labels)) {}

  void Begin(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += MakeString("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }
  // A sample of the metric that was begun last; `more` are labels, such as `for="input"`.
  void Sample(double value, const std::string& more = "") {
    text_ += name_ + "{" + labels_ + (more.empty() ? "" : "," + more) + "} " + NumberText(value);
    text_ += "\n";
  }
  void Gauge(const char* name, const char* help, double value) {
    Begin(name, "gauge", help);
    Sample(value);
  }
  void Counter(const char* name, const char* help, double value) {
    Begin(name, "counter", help);
    Sample(value);
  }
  const std::string& text() const { return text_; }

 private:
  const std::string labels_;
  std::string name_, text_;
};

// Bytes of this process in memory; 0 if the system does not tell.
double ResidentBytes() {
  long long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%*d %lld", &pages) != 1) pages = 0;
  std::fclose(file);
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void AddProcess(const std::string& state, int num_shards, MetricsText* text) {
  text->Begin("doppio_info", "gauge", "Version and commit of the program.");
  text->Sample(1, "version=" + LabelText(Version()) + ",commit=" + LabelText(Commit()));
  text->Gauge("doppio_shards", "Shards of the run.", num_shards);
  text->Begin("doppio_state", "gauge", "1 for what this shard does now.");
  for (const char* each : kStates) {
    text->Sample(state == each ? 1 : 0, "state=" + LabelText(each));
  }
  text->Begin("doppio_waited_seconds_total", "counter",
              "Time that this shard has waited for input, and in exchanges between shards.");
  text->Sample(WaitedSeconds(WaitFor::kInput), "for=\"input\"");
  text->Sample(WaitedSeconds(WaitFor::kShards), "for=\"shards\"");
  text->Counter("doppio_strangers_dropped_total", "Connections of strangers that were dropped.",
                static_cast<double>(StrangersDropped()));
  text->Gauge("process_start_time_seconds", "Start of this process since 1970.",
              static_cast<double>(ProcessStartMs()) / 1e3);
  text->Gauge("process_resident_memory_bytes", "Memory of this process.", ResidentBytes());
}

void AddIteration(const IterationReport& last, MetricsText* text) {
  text->Gauge("doppio_epoch",
              "Epoch of the last logged iteration, counted from 0: 0 is the first one, which "
              "doppio top shows as 1.",
              last.epoch);
  text->Gauge("doppio_epoch_iteration", "Iterations of this epoch that are done.",
              static_cast<double>(last.iteration));
  text->Gauge("doppio_epoch_iterations", "Iterations in an epoch.",
              static_cast<double>(last.epoch_iterations));
  text->Gauge("doppio_loss", "Training loss, mean over all shards.", last.loss);
  text->Gauge("doppio_accuracy", "Top-1 accuracy in training, over all shards.", last.accuracy);
  text->Gauge("doppio_accuracy_top5", "Top-5 accuracy in training.", last.accuracy_top5);
  text->Gauge("doppio_learning_rate", "Learning rate.", last.learning_rate);
  text->Gauge("doppio_images_per_second", "Training images per second of this shard.",
              last.images_per_second);
  text->Gauge("doppio_job_images_per_second", "Training images per second of all shards.",
              last.job_images_per_second);
  text->Gauge("doppio_input_wait_ratio", "Part of the time in which this shard waits for input.",
              last.input_wait);
}

void AddTest(const TestReport& test, MetricsText* text) {
  text->Gauge("doppio_test_epoch", "Epoch of the last test, counted from 0.", test.epoch);
  text->Gauge("doppio_test_loss", "Loss of the last test.", test.loss);
  text->Gauge("doppio_test_accuracy", "Top-1 accuracy of the last test.", test.accuracy);
  text->Gauge("doppio_test_accuracy_top5", "Top-5 accuracy of the last test.", test.accuracy_top5);
  text->Gauge("doppio_test_best_accuracy", "Best top-1 accuracy of all tests.", test.best_accuracy);
}

}  // namespace

RunMetrics::RunMetrics(const std::string& run_id, int shard_id, int num_shards)
    : labels_(MakeString("run=", LabelText(run_id), ",shard=\"", shard_id, "\"")),
      num_shards_(num_shards) {}

void RunMetrics::OnStart(const StartReport& report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  values_.num_epochs = report.options->schedule.num_epochs;
  values_.batch_size = report.options->schedule.batch_size * num_shards_;
}

void RunMetrics::OnState(const std::string& state) {
  const std::lock_guard<std::mutex> lock(mutex_);
  values_.state = state;
}

void RunMetrics::OnIteration(const IterationReport& report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  values_.iteration = report;
}

void RunMetrics::OnTest(const TestReport& report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  values_.test = report;
}

void RunMetrics::OnModelSaved(const std::string& /*path*/) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++values_.models;
}

std::string RunMetrics::Text() const {
  Values now;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    now = values_;
  }
  MetricsText text(labels_);
  AddProcess(now.state, num_shards_, &text);
  if (now.num_epochs > 0) text.Gauge("doppio_epochs", "Epochs of the run.", now.num_epochs);
  const auto done = static_cast<double>(now.iteration.total_iterations);
  text.Counter("doppio_iterations_total", "Iterations of the run, as of the last logged one.",
               done);
  text.Counter("doppio_images_total", "Training images of all shards, as of then.",
               done * static_cast<double>(now.batch_size));
  text.Counter("doppio_models_saved_total", "Models that this process has saved.",
               static_cast<double>(now.models));
  if (done > 0) AddIteration(now.iteration, &text);
  if (now.test.images > 0) AddTest(now.test, &text);
  return text.text();
}

}  // namespace caffe2

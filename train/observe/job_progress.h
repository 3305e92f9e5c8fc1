// Shows people the progress of a run: a line for the whole job, and a bar on terminals.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "caffe2/utils/status_bar.h"
#include "train/report.h"

namespace caffe2 {

// "0:42", "1:02:03", "2 d 03:04:05".
std::string DurationText(double seconds);

// Computes how much of the job is done, and when it will end at the average speed since its start.
class JobProgress {
 public:
  void Start(const StartReport& report);
  // The percentage is of the iterations of the whole run. The time left is estimated from
  // `seconds`, the time since the start including tests and saves.
  struct Estimate {
    std::string percent, eta;  // "12.4 %", "ETA 1:02:03"
  };
  Estimate Now(const IterationReport& report, double seconds) const;
  // "12.4 %, ETA 1:02:03".
  std::string Text(const IterationReport& report, double seconds) const;
  int num_epochs() const { return num_epochs_; }
  int num_shards() const { return num_shards_; }

 private:
  int num_epochs_ = 0, num_shards_ = 1;
  int64_t epoch_iterations_ = 0, max_iterations_ = 0, started_at_ = 0;
};

// Logs after each epoch, and within an epoch when `interval` has passed since the last line:
//   Job: epoch 3/90, 2.4 %, ETA 1:02:03, loss 2.1034, top-1 0.4512, 813.20 images/s of 2 shards,
//   input wait 0.3 %
// All four are means: over the epoch in its last line, otherwise over the iterations since the
// report before.
class JobLine : public TrainListener {
 public:
  explicit JobLine(std::chrono::milliseconds interval) : interval_(interval) {}
  void OnStart(const StartReport& report) override;
  void OnIteration(const IterationReport& report) override;
  void OnEpochEnd(const EpochReport& report) override;

 private:
  struct Means {
    double loss, accuracy, images_per_second, input_wait;
  };
  void Log(const Means& means);

  using Clock = std::chrono::steady_clock;
  const std::chrono::milliseconds interval_;
  JobProgress progress_;
  Clock::time_point start_ = Clock::now(), logged_ = start_;
  std::optional<IterationReport> last_;
  double seconds_ = 0, waited_ = 0;  // of this epoch, in this process
};

// Shows iterations as one line of the terminal, no wider than it and rewritten in place; passes all
// other events to `log`. If only the launcher has a terminal, sends it the line.
class ProgressBar : public TrainListener {
 public:
  explicit ProgressBar(std::unique_ptr<TrainListener> log) : log_(std::move(log)) {}
  ~ProgressBar() override { Clear(); }
  void OnJoin(const RunIdentity& identity) override { log_->OnJoin(identity); }
  void OnStart(const StartReport& report) override;
  void OnTakeOver(const StartReport& report) override { log_->OnTakeOver(report); }
  void OnState(const std::string& state) override { log_->OnState(state); }
  void OnEpochStart(int epoch, int num_epochs) override;
  void OnIteration(const IterationReport& report) override { ShowReport(report, true); }
  void OnProgress(const IterationReport& report) override { ShowReport(report, false); }
  void OnTest(const TestReport& report) override;
  void OnEpochEnd(const EpochReport& report) override;
  void OnModelSaved(const std::string& path) override;

 private:
  void ShowReport(const IterationReport& report, bool in_log);
  void Show(const StatusBar& bar);
  void Clear();

  std::unique_ptr<TrainListener> log_;
  const bool of_launcher_ = LauncherShowsBar();
  JobProgress progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

// `log`, wrapped in a ProgressBar if stderr is a terminal, or the launcher's is.
std::unique_ptr<TrainListener> ForTerminal(std::unique_ptr<TrainListener> log);
// A JobLine that logs each minute and after each epoch. If there is a progress bar, it logs only
// after epochs, because the bar shows the rest.
std::unique_ptr<TrainListener> NewJobLine();

}  // namespace caffe2
